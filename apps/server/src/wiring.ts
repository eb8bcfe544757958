import { createHash } from "node:crypto";
import { availableParallelism, hostname, totalmem } from "node:os";
import { setTimeout } from "node:timers/promises";
import { backupFiles, decompress, digest, objectStorage } from "@berth/backup";
import { cloudProviders } from "@berth/cloud";
import { type Control, control, type SignIns, signIns, signInTries, type Webhooks, webhooks } from "@berth/control";
import type { OriginCredential } from "@berth/core";
import type { ReleaseLimits } from "@berth/core/deploy";
import type { Clock, S3Credentials, S3StorageRecord, ServerRecord, Stores } from "@berth/core/ports";
import { ENGINES, isOwnMachine } from "@berth/core/server";
import type { Scope } from "@berth/core/team";
import { authenticator, cipher, type Database, loadKeyFile, requireKey, stores, systemStores } from "@berth/db";
import { type ProcessEngine, processBuilder, processEngine } from "@berth/engine";
import { addressBook, certificateIssuer, diskSpace, isRoot, keyReader, redactor } from "@berth/host";
import { identityProviders, mailer, passkeyVerifier } from "@berth/identity";
import { behindFrontDoor, type EmbeddedProxy, embeddedProxy, guestsOf } from "@berth/proxy";
import { githubHost, sourceFetcher } from "@berth/source";
import { gitCredentials, planServerCleanup, type Worker, type WorkerOptions, worker } from "@berth/worker";
import type { Config } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import { type DockerServerDeps, dockerServer } from "./docker-server.ts";
import { fleet, type Member } from "./fleet.ts";
import { ids } from "./ids.ts";
import type { Logger } from "./logger.ts";
import { magic } from "./magic.ts";
import { passwordHasher } from "./passwords.ts";
import { readTemplates, TEMPLATES_FOLDER } from "./templates.ts";

/** User of the embedded proxy when started by root. Below the range of applications, so that none has this id. */
const PROXY_USER_ID = 699_990;

const wait = (seconds: number) => setTimeout(seconds * 1000);
const clock: Clock = { now: () => new Date() };

export const hashToken = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** The parts of the server behind its API. */
export interface Inside {
  readonly controlFor: (scope: Scope) => Control;
  readonly storesFor: (scope: Scope) => Stores;
  readonly webhooks: Webhooks;
  readonly signIns: SignIns;
  readonly authenticator: ReturnType<typeof authenticator>;
  /** Sets the records of this machine and its Docker engine. Nothing is deployed before. */
  useServers(local: ServerRecord, docker: ServerRecord | undefined, instanceId: string): void;
  /** Closes the connections to all servers; releases there continue. */
  closeServers(): Promise<void>;
  openEngine(): Promise<ProcessEngine>;
  openProxy(): Promise<EmbeddedProxy>;
  makeWorker(options?: Pick<WorkerOptions, "steps" | "settings">): Worker;
}

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

/** The only place that connects ports with their adapters: plain calls in dependency order. */
export async function wire(
  config: Config,
  folder: DataFolder,
  database: Database,
  { log, hostOf }: { readonly log: Logger; readonly hostOf?: DockerServerDeps["hostOf"] },
): Promise<Inside> {
  const secrets = { cipher: cipher(await loadKeyFile(folder.keyFile)) };
  const templates = await readTemplates(TEMPLATES_FOLDER);
  await requireKey(database, secrets.cipher);
  const storesFor = stores(database, secrets);
  const source = sourceFetcher({
    folder: folder.sources,
    allowFileProtocol: true,
    privateFolders: [folder.root],
    allowedPrivateHosts: config.allowedPrivateHosts,
  });
  const engine = processEngine({
    dataFolder: folder.apps,
    runtimeFolder: folder.runtime,
    instanceFolder: folder.root,
    userRanges: USER_RANGES,
    builder: processBuilder(),
    // Applications listen on HOST, so that only the proxy reaches them.
    settings: { hostAddress: "127.0.0.1", buildLimits: buildLimits(config) },
    warn: (message, cause) => log.warn(message, { cause }),
  });
  const gitHost = githubHost({ allowedPrivateHosts: config.allowedPrivateHosts });
  let proxy: EmbeddedProxy | undefined;
  let local: ServerRecord | undefined;
  let localDocker: ServerRecord | undefined;
  let instanceId: string | undefined;
  const system = systemStores(database, secrets);

  const frontOf = () => (localDocker && config.docker.isWanted ? members.known(localDocker.id)?.frontDoor : undefined);
  const isLocal = (server: Pick<ServerRecord, "id">) => server.id === local?.id;
  const makeMember = (server: ServerRecord): Member | undefined => {
    if (isLocal(server)) {
      if (proxy === undefined) return undefined;
      const behind = behindFrontDoor(proxy, frontOf);
      return { engine, proxy: behind, update() {}, retryNow() {}, close: async () => {} };
    }
    if (!ENGINES[server.engine].hasContainers || (isOwnMachine(server) && server.id !== localDocker?.id))
      return undefined;
    if (instanceId === undefined) return undefined;
    return dockerServer(server, {
      stores: system,
      folder,
      instanceId,
      local: config.docker,
      tls: config.tls,
      trustedProxies: config.trustedProxies,
      allowedPrivateHosts: config.allowedPrivateHosts,
      baseImages: config.baseImages,
      fetchesBuildTools: config.fetchesBuildTools,
      buildPercent: config.buildPercent,
      inWorkplace: engine.inWorkplace,
      guests: () => guestsOf(proxy),
      hostOf,
      log,
    });
  };
  const members = fleet(makeMember, async (id) => (await system.servers.find(id)) !== undefined);
  const engineFor = (server: ServerRecord) => (isLocal(server) ? engine : members.member(server).engine);
  const proxyFor = (server: ServerRecord) => members.member(server).proxy;
  const cleanerFor = (server: ServerRecord) =>
    members.isWithinReach(server) ? members.member(server).cleaner : undefined;

  const bucketOf = (storage: S3StorageRecord, credentials: OriginCredential<S3Credentials>) =>
    objectStorage({ allowedPrivateHosts: config.allowedPrivateHosts }, storage, credentials);

  const publicUrl = (url: string, serverId: number) => members.known(serverId)?.proxy.publicUrl(url) ?? url;
  const people = {
    ...{ system, passwords: passwordHasher(), tries: signInTries(clock), clock, ids, hashToken },
    providers: identityProviders({ allowedPrivateHosts: config.allowedPrivateHosts }),
    passkeyVerifier: passkeyVerifier(),
    mailer: config.mail && mailer(config.mail, (message, cause) => log.warn(message, { cause })),
    instanceUrl: config.publicUrl ?? null,
  };

  return {
    storesFor,
    signIns: signIns(people),
    authenticator: authenticator(database),
    webhooks: webhooks({
      stores: system,
      ids,
      instanceUrl: config.publicUrl ?? null,
      publicUrl,
    }),
    controlFor: control({
      stores: storesFor,
      source,
      engineFor,
      machineFor: (server) => (isOwnMachine(server) ? undefined : members.member(server).machine),
      hasCleanup: (server) => cleanerFor(server) !== undefined,
      planCleanup: (server) => planServerCleanup({ stores: system, cleanerFor }, server),
      publicUrl,
      servesHttps: (server) => !isLocal(server) || (frontOf()?.isWanted() ?? false),
      reportedVersion: config.reportedVersion,
      teamServersMax: config.teamServersMax,
      keys: keyReader,
      addresses: addressBook(),
      gitHost,
      cloud: cloudProviders({ allowedPrivateHosts: config.allowedPrivateHosts }),
      objectStorage: bucketOf,
      wait,
      certificates: certificateIssuer,
      ...people,
      magic,
      templates,
    }),
    useServers(server, docker, id) {
      local = server;
      localDocker = docker;
      instanceId = id;
      // Made now: it is asked whether it has certificates before anything visits the server.
      if (docker !== undefined) members.member(docker);
    },
    closeServers: () => members.close(),
    openEngine: async () => {
      await engine.open();
      return engine;
    },
    openProxy: async () => {
      proxy = await embeddedProxy({
        folder: folder.proxy,
        host: config.proxyHost,
        port: config.proxyPort,
        trustedProxies: [...config.trustedProxies, ...(config.docker.isWanted ? ownAddresses(config.proxyHost) : [])],
        nodePath: process.execPath,
        ...(isRoot() ? { user: { uid: PROXY_USER_ID, gid: PROXY_USER_ID } } : {}),
        onLine: (line) => log.debug(line),
      });
      return proxy;
    },
    makeWorker: (options = {}) =>
      worker({
        stores: system,
        engineFor,
        proxyFor,
        cleanerFor,
        connectorFor: (server) => members.member(server).connect,
        keepOnly: (servers) => members.keepOnly(servers),
        source,
        credentialsFor: gitCredentials(system, gitHost),
        redactor,
        clock,
        diskOf: async (server) =>
          isLocal(server) ? await diskSpace(folder.apps) : await members.known(server.id)?.machine?.disk(),
        machineOf: (server) => (members.isWithinReach(server) ? members.member(server).machine : undefined),
        backups: {
          files: backupFiles(folder.backups),
          objectStorage: bucketOf,
          digest,
          decompress,
        },
        owner: `${hostname()}-${process.pid}-${ids.secret(8)}`,
        ownsServer: (server) => members.isWithinReach(server),
        logger: log,
        ...options,
        settings: {
          concurrentDeploymentsMax: config.parallelDeployments,
          teamSharePercent: config.teamSharePercent,
          taskExecutionsKept: config.taskExecutionsKept,
          eventKeptDays: config.eventKeptDays,
          ...options.settings,
        },
      }),
  };
}
