import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { type Control, control, type Webhooks, webhooks } from "@berth/control";
import { type Clock, DomainError, type Scope, type ServerRecord, type Stores } from "@berth/core";
import { authenticator, cipher, type Database, loadKeyFile, requireKey, stores, systemStores } from "@berth/db";
import {
  addressBook,
  cloudProviders,
  diskSpace,
  type EmbeddedProxy,
  embeddedProxy,
  githubHost,
  isRoot,
  keyReader,
  type ProcessEngine,
  processBuilder,
  processEngine,
  redactor,
  sourceFetcher,
} from "@berth/engine";
import { gitCredentials, type Worker, type WorkerOptions, worker } from "@berth/worker";
import type { Config } from "./config.ts";
import type { DataFolder } from "./data-folder.ts";
import { ids } from "./ids.ts";
import type { Logger } from "./logger.ts";
import { magic } from "./magic.ts";
import { readTemplates, TEMPLATES_FOLDER } from "./templates.ts";

/** Of the embedded proxy when root starts it: below the applications' own ids, so that none of them has it. */
const PROXY_USER_ID = 699_990;

const wait = (seconds: number) => setTimeout(seconds * 1000);
const clock: Clock = { now: () => new Date() };

export const hashToken = (secret: string): string => createHash("sha256").update(secret).digest("hex");

/** The inside of the server: what the API calls, and what works in the background. */
export interface Inside {
  readonly controlFor: (scope: Scope) => Control;
  readonly storesFor: (scope: Scope) => Stores;
  readonly webhooks: Webhooks;
  readonly authenticator: ReturnType<typeof authenticator>;
  /** This machine. Set once its record is known; nothing is deployed before. */
  useLocalServer(server: ServerRecord): void;
  openEngine(): Promise<ProcessEngine>;
  openProxy(): Promise<EmbeddedProxy>;
  makeWorker(options?: Pick<WorkerOptions, "steps" | "settings">): Worker;
}

/** The only place where ports meet their adapters: plain calls, in the order in which one needs the other. */
export async function wire(config: Config, folder: DataFolder, database: Database, log: Logger): Promise<Inside> {
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
    builder: processBuilder(),
    // What goes by HOST is reached through the proxy only.
    settings: { hostAddress: "127.0.0.1" },
    warn: (message, cause) => log.warn(message, { cause }),
  });
  const gitHost = githubHost({ allowedPrivateHosts: config.allowedPrivateHosts });
  let proxy: EmbeddedProxy | undefined;
  let local: ServerRecord | undefined;

  const isLocal = (server: Pick<ServerRecord, "id">) => server.id === local?.id;
  const engineFor = (server: ServerRecord) => {
    if (isLocal(server)) return engine;
    throw unreachable(server);
  };
  const proxyFor = (server: ServerRecord) => {
    if (isLocal(server) && proxy !== undefined) return proxy;
    throw unreachable(server);
  };

  return {
    storesFor,
    authenticator: authenticator(database),
    webhooks: webhooks({
      stores: systemStores(database, secrets),
      ids,
      instanceUrl: config.publicUrl ?? null,
    }),
    controlFor: control({
      stores: storesFor,
      source,
      engineFor,
      publicUrl: (url, serverId) => (isLocal({ id: serverId }) && proxy ? proxy.publicUrl(url) : url),
      instanceUrl: config.publicUrl ?? null,
      reportedVersion: config.reportedVersion,
      teamServersMax: config.teamServersMax,
      keys: keyReader,
      addresses: addressBook(),
      gitHost,
      cloud: cloudProviders({ allowedPrivateHosts: config.allowedPrivateHosts }),
      wait,
      clock,
      ids,
      magic,
      templates,
      hashToken,
    }),
    useLocalServer: (server) => {
      local = server;
    },
    openEngine: async () => {
      await engine.open();
      return engine;
    },
    openProxy: async () => {
      proxy = await embeddedProxy({
        folder: folder.proxy,
        host: config.proxyHost,
        port: config.proxyPort,
        nodePath: process.execPath,
        ...(isRoot() ? { user: { uid: PROXY_USER_ID, gid: PROXY_USER_ID } } : {}),
        onLine: (line) => log.debug(line),
      });
      return proxy;
    },
    makeWorker: (options = {}) =>
      worker({
        stores: systemStores(database, secrets),
        engineFor,
        proxyFor,
        source,
        credentialsFor: gitCredentials(systemStores(database, secrets), gitHost),
        redactor,
        clock,
        diskOf: async (server) => (isLocal(server) ? await diskSpace(folder.apps) : undefined),
        owner: `${hostname()}-${process.pid}-${ids.secret(8)}`,
        ownsServer: isLocal,
        logger: log,
        ...options,
        settings: { concurrentDeploymentsMax: config.parallelDeployments, ...options.settings },
      }),
  };
}

const unreachable = ({ name }: ServerRecord) =>
  new DomainError("engine.unreachable", `Server ${name} is not within reach of this control plane.`);
