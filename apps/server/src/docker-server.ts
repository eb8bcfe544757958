import { homedir } from "node:os";
import { join } from "node:path";
import { DomainError, notFound } from "@berth/core";
import type { ServerRecord, Site, SystemStores } from "@berth/core/ports";
import { ENGINES, isClusterIngress, isOnOwnMachine, isOwnMachine, redirectUrlOf } from "@berth/core/server";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { dockerClient } from "@berth/docker-client";
import {
  composeTool,
  dockerCleaner,
  dockerEngine,
  dockerImages,
  type InWorkplace,
  imageBuilder,
  ManagingNode,
  OVERLAY,
  type SwarmNode,
  serverMachine,
  swarmEngine,
  swarmMembership,
  toolFetcher,
  withStacks,
} from "@berth/engine";
import { type Host, localHost, movableHost, type SshHost, sshHost } from "@berth/host";
import {
  type Address,
  CertificateCopies,
  clusterProxy,
  frontDoor,
  type IngressNode,
  nodeProxy,
  overlaysOf,
  recordedProxy,
  serverProxy,
  type TlsSettings,
} from "@berth/proxy";
import type { Config, LocalDocker } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import type { IngressHead, Member } from "./fleet.ts";
import type { Logger } from "./logger.ts";
import { ownEngine } from "./own-engine.ts";

export interface DockerServerDeps {
  readonly stores: SystemStores;
  readonly folder: DataFolder;
  /** Instance id for the labels of all objects on engines. */
  readonly instanceId: string;
  /** Settings of this machine's engine. */
  readonly local: LocalDocker;
  readonly tls: TlsSettings;
  readonly trustedProxies: readonly string[];
  /** Private hosts that servers of other teams may have. */
  readonly allowedPrivateHosts: readonly string[];
  /** Images in place of those of Berth's own Dockerfiles. */
  readonly baseImages: ReadonlyMap<string, string>;
  /** Whether nixpacks and railpack are downloaded where they are not installed. */
  readonly fetchesBuildTools: boolean;
  /** Percent of a server that its builds together may take. */
  readonly buildPercent: Config["buildPercent"];
  /** Where those programs run: on Berth's machine, for all servers. */
  readonly inWorkplace: InWorkplace;
  /** A machine that is reached otherwise than by SSH; `undefined`: as its record says. */
  readonly hostOf?: ((server: ServerRecord) => Host | undefined) | undefined;
  /** Nodes of the cluster that a server manages. */
  readonly nodesOf: (server: ServerRecord, isFresh?: boolean) => Promise<readonly SwarmNode[]>;
  /** The other nodes of that cluster that take its requests, as of now. */
  readonly ingressOf: (server: ServerRecord, isFresh?: boolean) => Promise<readonly IngressNode[]>;
  /** The manager of the cluster that a server is a node of, if it was asked for before. */
  readonly headOf: (server: ServerRecord) => IngressHead | undefined;
  /** Sites of this machine's processes, which the proxy of its own engine serves too. */
  readonly guests: () => readonly Site[];
  readonly log: Logger;
}

/** A server with a Docker engine: this machine's own, or one over SSH. Connections are opened when needed. */
export function dockerServer(first: ServerRecord, deps: DockerServerDeps): Member {
  const { folder, instanceId, local, tls, trustedProxies, log } = deps;
  const isOwn = isOwnMachine(first);
  const ownFolder = join(folder.servers, first.uuid);
  let record = first;
  let ssh: SshHost | undefined;

  const connect = async (): Promise<Host> => {
    if (isOwn) return localHost(record.name);
    const given = deps.hostOf?.(record);
    if (given !== undefined) return given;
    ssh = sshHost(sshOptions(record, deps, join(ownFolder, "sockets")));
    return ssh;
  };
  const host = movableHost(first.name, connect);
  const socketPath = isOwn ? local.socketPath : undefined;
  const own = ownEngine({ host, socketPath, stores: deps.stores, record: () => record });
  const docker = dockerClient(host, socketPath, { beforeConnect: own.require });
  const warn = (message: string, cause: unknown) => log.warn(message, { server: record.name, error: cause });
  const logins = {
    recordedLogins: () => deps.stores.forTeam(first.team_id).registries.logins(),
    // The Docker logins on Berth's machine belong to its operator, so only the root team uses them.
    dockerConfigFile: first.team_id === ROOT_TEAM_ID ? join(homedir(), ".docker", "config.json") : undefined,
  };
  const builder = imageBuilder({
    host,
    instanceId,
    folder: join(ownFolder, "builds"),
    ...logins,
    ...(isOwn ? { socketPath: local.socketPath } : {}),
    inWorkplace: deps.inWorkplace,
    shares: deps.buildPercent,
    replacements: deps.baseImages,
    fetcher: deps.fetchesBuildTools
      ? toolFetcher({ folder: folder.tools, privateHosts: deps.allowedPrivateHosts })
      : undefined,
    privateHosts: () => (isOnOwnMachine(record) ? deps.allowedPrivateHosts : undefined),
  });
  const { isCluster } = ENGINES[first.engine];
  const images = dockerImages({ docker, server: first.name, ...logins });
  const network = isOwn ? local.network : NETWORK;
  const common = { host, docker, instance: instanceId, builder, images, network, warn };
  const compose = composeTool({
    host,
    folder: join(ownFolder, "stacks"),
    ...(isOwn ? { socketPath: local.socketPath } : {}),
  });
  const node = {
    get name() {
      return record.name;
    },
    ...{ host, docker, images, builder, compose },
  };
  const nodes = (isFresh?: boolean) => deps.nodesOf(record, isFresh);
  const managing = isCluster
    ? new ManagingNode({
        head: () => ({ ...node, id: record.swarm_node_id }),
        nodes,
        onChange(name) {
          log.info("Calls to a cluster go through this manager from now on.", { server: record.name, manager: name });
          if (name === record.name) headReturned();
        },
      })
    : undefined;
  const single = dockerEngine({ ...common, compose, networkOptions: isCluster ? OVERLAY : undefined });
  const cluster =
    managing &&
    withStacks(swarmEngine({ ...common, ...callsOf(managing), ownDocker: docker, nodes }), single, {
      managing,
      instance: instanceId,
    });
  const engine = cluster ?? single;
  const isIngress = () => isClusterIngress(record);
  const proxyOptions = {
    host,
    docker,
    instance: instanceId,
    tls,
    trustedProxies,
    redirectUrl: () => redirectUrlOf(record),
    ...(isOwn ? { httpPort: local.httpPort, httpsPort: local.httpsPort } : {}),
  };
  const head = () => deps.headOf(record);
  /** Only a manager knows all networks of a cluster, and only its proxy obtains certificates. */
  const ofIngress = {
    overlays: async () => (await head()?.overlays()) ?? [],
    issuingProxy: () => head()?.issuingProxy(),
  };
  const recorded = recordedProxy(
    first,
    (type) =>
      serverProxy(type, {
        ...proxyOptions,
        ...(isIngress() ? ofIngress : {}),
        joinsOverlays: isCluster || isIngress(),
        folder: isOwn ? join(ownFolder, "proxy") : remoteFolder(record, instanceId),
      }),
    { placementOf: isIngress },
  );
  const front = isOwn ? frontDoor(first, recorded, deps.guests) : undefined;
  const ingressNodes = () => deps.ingressOf(record);
  const copies = new CertificateCopies({ read: () => recorded.certificates(), nodes: ingressNodes, warn });
  const isLost = async () => (await managing?.isHeadLost()) ?? false;
  const shared = isCluster ? clusterProxy(front ?? recorded, ingressNodes, { copies, isLost, warn }) : undefined;
  const tellAll = (work: () => Promise<void>) => void work().catch((cause: unknown) => warn(NOT_TOLD, cause));
  const headReturned = () => shared && tellAll(() => shared.ownReturned());
  const proxy = shared ?? front ?? nodeProxy(recorded, isIngress);
  let address: Address | undefined;

  return {
    engine,
    proxy,
    frontDoor: front,
    machine: serverMachine({
      host,
      user: () => record.user,
      retryNow: () => ssh?.retryNow(),
      reconnect: () => host.move(),
      requireLeader: cluster?.cluster?.requireLeader,
      substitute: managing && (() => managing.substitute()),
      ...(isOwn ? { socketPath: local.socketPath } : {}),
    }),
    cleaner: dockerCleaner({ docker, server: first.name, instance: instanceId }),
    node,
    ingress: {
      get name() {
        return record.name;
      },
      proxy: recorded,
    },
    ingressHead: shared && {
      async overlays() {
        const asked = managing ?? { docker };
        const isAway = (await managing?.substitute()) !== undefined;
        const { Swarm } = isAway ? {} : await docker.info();
        const own = Swarm?.NodeAddr || address?.host || record.ip;
        address = { host: own, port: proxyOptions.httpPort ?? HTTP_PORT };
        return await overlaysOf(asked.docker, instanceId);
      },
      issuingProxy: () => address,
      nodesChanged: () =>
        tellAll(async () => {
          await deps.ingressOf(record, true);
          await shared.nodesChanged();
        }),
    },
    membership: swarmMembership(docker, first.name),
    connect: cluster?.connect ?? (isOwn ? undefined : (address, signal) => host.connectTcp(address, signal)),
    update(server) {
      const before = record;
      const wasIngress = isIngress();
      record = server;
      (front ?? recorded).use(server);
      if (isIngress() && !wasIngress) head()?.nodesChanged();
      if (wasIngress && !isIngress())
        void recorded.sync([]).catch((cause: unknown) => warn("Its proxy keeps sites.", cause));
      if (isOwn || !isReachedOtherwise(before, server)) return;
      own.forget();
      void host.move().catch((cause: unknown) => warn("It moved.", cause));
    },
    retryNow: () => ssh?.retryNow(),
    async close() {
      await copies.close();
      await (cluster?.close() ?? single.close({ stopReleases: false }));
      await host.close();
    },
  };
}

const callsOf = ({ docker, images, builder, compose }: ManagingNode) => ({ docker, images, builder, compose });

/** When a host key is recorded for the first time, it is that of the open connection. */
const isReachedOtherwise = (before: ServerRecord, now: ServerRecord): boolean =>
  (["ip", "port", "user", "private_key_id"] as const).some((field) => before[field] !== now[field]) ||
  (before.host_key !== null && before.host_key !== now.host_key);

function sshOptions(record: ServerRecord, { stores, allowedPrivateHosts }: DockerServerDeps, bridgeFolder: string) {
  const { id, name, ip, port, user, team_id, private_key_id, host_key, settings } = record;
  return {
    name,
    ip,
    port,
    user,
    connectTimeoutSeconds: settings.connection_timeout,
    hostKey: host_key,
    // The root team is the operator of this machine.
    privateHosts: team_id === ROOT_TEAM_ID ? undefined : allowedPrivateHosts,
    bridgeFolder,
    async privateKey() {
      if (private_key_id === null) throw notFound("Private key");
      return (await stores.forTeam(team_id).privateKeys.secrets(private_key_id)).ssh_key;
    },
    async onHostKey(fingerprint: string) {
      if ((await stores.servers.recordHostKey({ id, ip, port }, fingerprint)) === fingerprint) return;
      // Another control plane recorded another key or address meanwhile, which takes precedence.
      throw new DomainError("server.unreachable", `Server ${name} was just recorded with another host key or address.`);
    },
  };
}

const HTTP_PORT = 80;
const NOT_TOLD = "A node that takes requests did not get the sites of its cluster.";

/** Network of the first destination of each new server. */
const NETWORK = "berth";

/** Only root can write to the system's folder for service data. */
const remoteFolder = ({ user }: ServerRecord, instanceId: string): string =>
  user === "root" ? `/var/lib/berth/${instanceId}/proxy` : `/home/${user}/.berth/${instanceId}/proxy`;
