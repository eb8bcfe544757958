import { availableParallelism, totalmem } from "node:os";
import type { ReleaseLimits } from "@berth/core/deploy";
import type { Engine, ServerRecord, Proxy as SiteProxy, SystemStores } from "@berth/core/ports";
import { ENGINES, isClusterIngress, isNodeOf, isOwnMachine, type ServerCleaner } from "@berth/core/server";
import { type ProcessEngine, processBuilder, processEngine, type SwarmNode } from "@berth/engine";
import { isRoot } from "@berth/host";
import {
  behindFrontDoor,
  type EmbeddedProxy,
  embeddedProxy,
  type FrontDoor,
  guestsOf,
  type IngressNode,
} from "@berth/proxy";
import type { Config } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import { type DockerServerDeps, dockerServer } from "./docker-server.ts";
import { type Fleet, fleet, type Member } from "./fleet.ts";
import type { Logger } from "./logger.ts";

export interface ServersDeps {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly stores: SystemStores;
  readonly log: Logger;
  readonly hostOf?: DockerServerDeps["hostOf"];
}

/** Records of this machine, known once the database has been read. */
interface OwnRecords {
  readonly local: ServerRecord;
  /** `undefined` where no Docker engine answered. */
  readonly docker: ServerRecord | undefined;
  readonly instanceId: string;
}

/** This machine, with its processes and its Docker engine, and all other servers of this control plane. */
export class Servers {
  readonly #deps: ServersDeps;
  readonly #engine: ProcessEngine;
  readonly #members: Fleet;
  #own: OwnRecords | undefined;
  #proxy: EmbeddedProxy | undefined;
  #recorded: { readonly readMs: number; readonly records: Promise<readonly ServerRecord[]> } | undefined;

  constructor(deps: ServersDeps) {
    const { config, folder, log, stores } = deps;
    this.#deps = deps;
    this.#engine = processEngine({
      dataFolder: folder.apps,
      runtimeFolder: folder.runtime,
      instanceFolder: folder.root,
      userRanges: USER_RANGES,
      builder: processBuilder(),
      // Applications listen on HOST, so that only the proxy reaches them.
      settings: { hostAddress: "127.0.0.1", buildLimits: buildLimits(config) },
      warn: (message, cause) => log.warn(message, { cause }),
    });
    this.#members = fleet(
      (server) => this.#make(server),
      async (id) => (await stores.servers.find(id)) !== undefined,
    );
  }

  get members(): Fleet {
    return this.#members;
  }

  /** Sets the records of this machine and its Docker engine. Nothing is deployed before. */
  use(own: OwnRecords): void {
    this.#own = own;
    // Made now: it is asked whether it has certificates before anything visits the server.
    if (own.docker !== undefined) this.#members.member(own.docker);
  }

  isLocal(server: Pick<ServerRecord, "id">): boolean {
    return server.id === this.#own?.local.id;
  }

  engine(server: ServerRecord): Engine {
    return this.isLocal(server) ? this.#engine : this.#members.member(server).engine;
  }

  proxy(server: ServerRecord): SiteProxy {
    return this.#members.member(server).proxy;
  }

  cleaner(server: ServerRecord): ServerCleaner | undefined {
    return this.#members.isWithinReach(server) ? this.#members.member(server).cleaner : undefined;
  }

  servesHttps(server: ServerRecord): boolean {
    return !this.isLocal(server) || (this.#frontDoor()?.isWanted() ?? false);
  }

  publicUrl(url: string, serverId: number): string {
    return this.#members.known(serverId)?.proxy.publicUrl(url) ?? url;
  }

  urlProblem(url: string, serverId: number): string | undefined {
    return this.#members.known(serverId)?.proxy.urlProblem?.(url);
  }

  async openEngine(): Promise<ProcessEngine> {
    await this.#engine.open();
    return this.#engine;
  }

  async openProxy(): Promise<EmbeddedProxy> {
    const { config, folder, log } = this.#deps;
    const { docker, proxyHost, proxyPort, trustedProxies } = config;
    this.#proxy = await embeddedProxy({
      folder: folder.proxy,
      host: proxyHost,
      port: proxyPort,
      trustedProxies: [...trustedProxies, ...(docker.isWanted ? ownAddresses(proxyHost) : [])],
      nodePath: process.execPath,
      ...(isRoot() ? { user: { uid: PROXY_USER_ID, gid: PROXY_USER_ID } } : {}),
      onLine: (line) => log.debug(line),
    });
    return this.#proxy;
  }

  /** Closes the connections to all servers; releases there continue. */
  close(): Promise<void> {
    return this.#members.close();
  }

  /** The servers that are nodes of a cluster, with its manager, where this control plane reaches them. */
  async #nodesOf(head: ServerRecord, isFresh = false): Promise<readonly SwarmNode[]> {
    const servers = await this.#recordedServers(isFresh);
    return servers.flatMap((server) => {
      const { swarm_node_id: id } = server;
      const isNode = id !== null && isNodeOf(server, head);
      const node = isNode && this.#members.isWithinReach(server) ? this.#members.member(server).node : undefined;
      return node === undefined || id === null ? [] : { ...node, id };
    });
  }

  /** The nodes of a cluster, other than its manager, that take its requests, where this control plane reaches them. */
  async #ingressOf(head: ServerRecord, isFresh = false): Promise<readonly IngressNode[]> {
    const servers = await this.#recordedServers(isFresh);
    return servers.flatMap((server) => {
      const isOf = isNodeOf(server, head) && isClusterIngress(server);
      return (isOf && this.#members.isWithinReach(server) && this.#members.member(server).ingress) || [];
    });
  }

  /** Asked for at each look at a cluster, so read again only after a moment. */
  #recordedServers(isFresh: boolean): Promise<readonly ServerRecord[]> {
    const nowMs = performance.now();
    if (isFresh || this.#recorded === undefined || nowMs - this.#recorded.readMs > SERVERS_KEPT_MS) {
      const records = this.#deps.stores.servers.list();
      records.catch(() => {
        this.#recorded = undefined;
      });
      this.#recorded = { readMs: nowMs, records };
    }
    return this.#recorded.records;
  }

  /** The proxy of this machine's Docker engine, where it serves processes too. */
  #frontDoor(): FrontDoor | undefined {
    const docker = this.#own?.docker;
    return docker && this.#deps.config.docker.isWanted ? this.#members.known(docker.id)?.frontDoor : undefined;
  }

  #make(server: ServerRecord): Member | undefined {
    if (this.#own === undefined) return undefined;
    if (this.isLocal(server)) {
      if (this.#proxy === undefined) return undefined;
      const proxy = behindFrontDoor(this.#proxy, () => this.#frontDoor());
      return { engine: this.#engine, proxy, update() {}, retryNow() {}, close: async () => {} };
    }
    const { docker, instanceId } = this.#own;
    const isOfOthers = isOwnMachine(server) && server.id !== docker?.id;
    if (!ENGINES[server.engine].hasContainers || isOfOthers) return undefined;
    const { config, folder, log, stores, hostOf } = this.#deps;
    return dockerServer(server, {
      stores,
      folder,
      instanceId,
      local: config.docker,
      tls: config.tls,
      trustedProxies: config.trustedProxies,
      allowedPrivateHosts: config.allowedPrivateHosts,
      baseImages: config.baseImages,
      fetchesBuildTools: config.fetchesBuildTools,
      buildPercent: config.buildPercent,
      inWorkplace: this.#engine.inWorkplace,
      guests: () => guestsOf(this.#proxy),
      nodesOf: (head, isFresh) => this.#nodesOf(head, isFresh),
      ingressOf: (head, isFresh) => this.#ingressOf(head, isFresh),
      headOf: ({ swarm_cluster: id }) => (id === null ? undefined : this.#members.known(id)?.ingressHead),
      hostOf,
      log,
    });
  }
}

const SERVERS_KEPT_MS = 2000;

/** User of the embedded proxy when started by root. Below the range of applications, so that none has this id. */
const PROXY_USER_ID = 699_990;

/**
 * The front door forwards from this machine. Programs of this machine could name another client here, but they reach
 * applications without any proxy too.
 */
const ownAddresses = (proxyHost: string): readonly string[] =>
  ["0.0.0.0", "::"].includes(proxyHost) ? ["127.0.0.1", "::1"] : [...new Set(["127.0.0.1", "::1", proxyHost])];

// Shared by all instances of a machine, wherever their data folders are.
const USER_RANGES = "/var/lib/berth-users";

function buildLimits({ buildPercent: { memory, cpu } }: Config): ReleaseLimits {
  return {
    memoryBytes: memory === 100 ? null : Math.floor((totalmem() * memory) / 100),
    cpus: cpu === 100 ? null : (availableParallelism() * cpu) / 100,
  };
}
