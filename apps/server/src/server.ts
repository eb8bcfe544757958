import { homedir } from "node:os";
import { DomainError, VERSION } from "@berth/core";
import type { ServerRecord, Stores } from "@berth/core/ports";
import { runningServersFolder } from "@berth/core/server";
import { limitReads, openDatabase } from "@berth/db";
import { dockerVersion } from "@berth/docker-client";
import { diskSpace, startProgramsApart } from "@berth/host";
import type { WorkerOptions } from "@berth/worker";
import {
  deployExample,
  ensureCliFile,
  ensureDockerServer,
  ensureLocalServer,
  firstSignInUrl,
  ROOT_SCOPE,
} from "./bootstrap.ts";
import type { Config } from "./config.ts";
import { dataFolder } from "./data-folder.ts";
import type { DockerServerDeps } from "./docker-server.ts";
import { followDeployment } from "./follow.ts";
import { foreignDatabaseUrl } from "./foreign-database-url.ts";
import { httpServer, listen } from "./http.ts";
import { ids } from "./ids.ts";
import { introduce, listApplications } from "./introduction.ts";
import { takeLastFailure } from "./last-failure.ts";
import type { Logger } from "./logger.ts";
import { writePrivateFile } from "./private-file.ts";
import type { Progress } from "./progress.ts";
import { readiness } from "./readiness.ts";
import { announceServer } from "./running-server.ts";
import { hashToken, wire } from "./wiring.ts";

const DEPLOYMENT_GRACE_SECONDS = 5; // Short, because a running deployment continues at the next start.

export interface ServerOptions {
  readonly log: Logger;
  readonly progress: Progress;
  /** Replaced by tests that break a step. */
  readonly worker?: Pick<WorkerOptions, "steps" | "settings">;
  /** Connections to servers other than by SSH. */
  readonly hostOf?: DockerServerDeps["hostOf"];
}

export interface RunningServer {
  readonly url: string;
  /** Stops requests, then deployments, applications, proxy and database, in this order. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts all parts on this machine. If one fails, the started ones are stopped again.
 * @throws DomainError `setup.failed` with one sentence for the operator
 */
export async function startServer(config: Config, options: ServerOptions): Promise<RunningServer> {
  const undo = undoStack();
  try {
    return await start(config, options, undo);
  } catch (error) {
    await undo.run();
    throw error;
  }
}

async function start(
  config: Config,
  { log, progress, worker: workerOptions, hostOf }: ServerOptions,
  undo: UndoStack,
): Promise<RunningServer> {
  progress.line(`Berth ${VERSION}`);
  const folder = dataFolder(config.dataFolder);
  const failure = takeLastFailure(folder.lastFailureFile);
  if (failure !== undefined) progress.line(`  ! ${failure}`);
  if (config.hasForeignDatabaseUrl) progress.line(`  ! ${foreignDatabaseUrl(folder)}`);
  const database = await progress.step(
    "database",
    () =>
      openDatabase({
        url: config.databaseUrl,
        dataFolder: folder.root,
        embedded: config.embedded,
        onNotice: (line) => progress.line(`    ${line}`),
      }),
    ({ kind }) => `${DATABASE_NAMES[kind]} in ${config.databaseUrl === undefined ? folder.root : "BERTH_DATABASE_URL"}`,
  );
  undo.add(() => database.close());
  const ready = readiness();
  ready.provide("database", () => database.ping());
  ready.provide("disk", () => requireFreeSpace(folder.root));
  const { migrate } = await import("@berth/db");
  await progress.step("tables", () => migrate(database));

  const inside = await wire(config, folder, database, { log, hostOf });
  const control = inside.controlFor(ROOT_SCOPE);
  const rootStores = inside.storesFor(ROOT_SCOPE);
  const server = await ensureLocalServer({ file: folder.serverFile, stores: rootStores, control, ids });
  const docker = await dockerOf(config, folder.dockerFile, rootStores, progress);
  inside.servers.use({
    local: server,
    docker,
    instanceId: await rootStores.settings.instanceId(config.instanceId ?? ids.uuid()),
  });
  undo.add(() => inside.servers.close());

  const app = httpServer({
    controlFor: inside.controlFor,
    limitReads,
    authenticator: inside.authenticator,
    signIns: inside.signIns,
    publicUrl: config.publicUrl ?? null,
    webhooks: inside.webhooks,
    requestsPerMinute: config.requestsPerMinute,
    terminalIdleMinutes: config.terminalIdleMinutes,
    connectionsPerAddress: config.connectionsPerAddress,
    trustedProxies: config.trustedProxies,
    readiness: ready,
    log,
  });
  undo.add(() => app.close());
  const url = localUrl(
    await progress.step("API", () => listen(app, { host: config.apiHost, port: config.apiPort }), localUrl),
  );

  const proxy = await progress.step(
    "proxy",
    () => inside.servers.openProxy(),
    (opened) => `port ${opened.port}`,
  );
  undo.add(() => proxy.close({ stopProxy: true }));
  ready.provide("proxy", async () => {
    const { state } = await proxy.status();
    if (state !== "listening") throw new DomainError("engine.unreachable", `The proxy is ${state}.`);
  });
  const engine = await progress.step("applications", () => inside.servers.openEngine());
  undo.add(() => engine.close({ stopReleases: true }));
  ready.provide("applications", () => engine.list());
  const worker = inside.makeWorker(workerOptions);
  worker.start();
  ready.provide("worker", async () => undefined);
  undo.add(() => worker.stop({ graceSeconds: DEPLOYMENT_GRACE_SECONDS }));

  writePrivateFile(folder.pidFile, `${process.pid}\n`);
  const token = await ensureCliFile({
    file: folder.cliFile,
    url,
    control,
    authenticator: inside.authenticator,
    hashToken,
  });
  const signInUrl = progress.isTerminal ? await firstSignInUrl(control, url) : undefined;
  undo.add(announceServer(runningServersFolder(homedir(), process.env), folder.root));
  introduce(progress, { url, token, cliFile: folder.cliFile, signInUrl });
  // A new token means that no earlier start got this far, so the example is deployed now.
  const { items: applications, total } = await control.applications.list({ take: SHOWN_APPLICATIONS_MAX });
  if (total === 0 && token !== undefined && config.deploysExample) {
    progress.line("\nDeploying examples/hello");
    const example = await deployExample(control, rootStores, server);
    if (example !== undefined) {
      const following = followDeployment(control, example, progress);
      undo.add(async () => following.stop());
    }
  } else {
    listApplications(progress, applications, total);
  }
  // A process that starts is small, and would wait for another one.
  startProgramsApart({ warn: (message, cause) => log.warn(message, { cause }) });
  const releasing = setTimeout(releaseStartMemory, START_MEMORY_SECONDS * 1000).unref();
  undo.add(async () => clearTimeout(releasing));
  let stopping: Promise<void> | undefined;
  return {
    url,
    stop: () => {
      stopping ??= undo.run();
      return stopping;
    },
  };
}

/**
 * A start allocates more than what runs afterwards. V8 keeps that memory while little is allocated, since it collects
 * only when much is: 19 MB of an idle server's 138. Stops the process once for 0.1 to 0.2 seconds.
 */
function releaseStartMemory(): void {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
}

/** By then, what runs every few seconds has run once. */
const START_MEMORY_SECONDS = 5;

/** The server record of this machine's Docker engine, created when the engine first answers. */
async function dockerOf(
  { docker }: Config,
  file: string,
  stores: Stores,
  progress: Progress,
): Promise<ServerRecord | undefined> {
  const options = { file, stores, ids, network: docker.network };
  if (!docker.isWanted) return ensureDockerServer({ ...options, version: undefined });
  const look = async () => {
    const version = await dockerVersion(docker.socketPath);
    return { version, server: await ensureDockerServer({ ...options, version }) };
  };
  const { server } = await progress.step("Docker", look, ({ version, server }) => {
    if (version !== undefined) return `${version}, server ${server?.name}`;
    return `${docker.socketPath} does not answer; applications run as processes`;
  });
  return server;
}

/** With less free space, writes would fail. @throws DomainError `storage.full` */
async function requireFreeSpace(folder: string): Promise<void> {
  const space = await diskSpace(folder);
  if (space === undefined || space.freeBytes >= FREE_BYTES_MIN) return;
  const freeMb = Math.floor(space.freeBytes / 1e6);
  throw new DomainError(
    "storage.full",
    `The disk of the data folder is full: ${freeMb} MB are free. Free space on it.`,
  );
}

const FREE_BYTES_MIN = 20_000_000;

const SHOWN_APPLICATIONS_MAX = 10;

const DATABASE_NAMES = {
  postgres: "PostgreSQL",
  "embedded-postgres": "embedded PostgreSQL",
  pglite: "PGlite",
} as const;

/** A URL for this machine: a wildcard address cannot be opened in a browser. */
const localUrl = (url: string) => url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//127.0.0.1");

interface UndoStack {
  add(work: () => unknown): void;
  /** Runs in reverse order; a failing one does not prevent the others. */
  run(): Promise<void>;
}

function undoStack(): UndoStack {
  const stack: (() => unknown)[] = [];
  return {
    add: (work) => void stack.push(work),
    run: async () => {
      const failures: unknown[] = [];
      for (let work = stack.pop(); work !== undefined; work = stack.pop()) {
        try {
          await work();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
