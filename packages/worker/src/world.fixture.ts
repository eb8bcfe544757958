import type { ApplicationSettings } from "@berth/core/application";
import { type DeploymentStep, isTerminal } from "@berth/core/deploy";
import type {
  ApplicationRecord,
  DeploymentRecord,
  DiskSpace,
  NewDeployment,
  ServerMachine,
  ServerRecord,
  Stores,
  SystemStores,
} from "@berth/core/ports";
import { ENGINES, type ServerCleaner, ServerSettings } from "@berth/core/server";
import { newDeployment, type TestDatabase, testApplication, testPlace, testUuid, until } from "@berth/testing";
import { type FakeEngine, fakeEngine } from "./fake-engine.fixture.ts";
import { type FakeProxy, fakeProxy } from "./fake-proxy.fixture.ts";
import { type FakeSource, fakeSource } from "./fake-source.fixture.ts";
import { type CallWatch, killable, type Life, life } from "./killable.fixture.ts";
import { type Points, points } from "./points.fixture.ts";
import type { WorkerSettings } from "./settings.ts";
import { type Worker, type WorkerOptions, worker } from "./worker.ts";

/** A server with everything that outlives a worker, in a real database. */
export interface World {
  /** Shared with the other worlds of the file. */
  readonly database: TestDatabase;
  readonly points: Points;
  readonly engine: FakeEngine;
  readonly proxy: FakeProxy;
  readonly source: FakeSource;
  readonly stores: Stores;
  readonly system: SystemStores;
  readonly warnings: readonly string[];
  readonly server: ServerRecord;
  /** Another server of the team for builds only, with its own engine. */
  buildServer(): Promise<BuildServer>;
  disk: DiskSpace | undefined;
  /** Machine of every server with containers. */
  machine: ServerMachine | undefined;
  cleaner: ServerCleaner | undefined;
  application(settings?: Partial<ApplicationSettings>): Promise<ApplicationRecord>;
  /** Requests a deployment, as a user does. */
  deploy(resource: Parameters<typeof newDeployment>[0], fields?: Partial<NewDeployment>): Promise<DeploymentRecord>;
  /** Starts a new worker. */
  worker(options?: TestWorkerOptions): TestWorker;
  find(deployment: Pick<DeploymentRecord, "id">): Promise<DeploymentRecord>;
  /** Waits for the end of a deployment and returns its record. */
  ended(deployment: Pick<DeploymentRecord, "id">): Promise<DeploymentRecord>;
  steps(deployment: Pick<DeploymentRecord, "id">): Promise<Record<string, DeploymentStep["status"]>>;
  log(deployment: Pick<DeploymentRecord, "id">): Promise<string>;
  status(application: ApplicationRecord): Promise<string | undefined>;
  close(): Promise<void>;
}

export interface BuildServer {
  readonly server: ServerRecord;
  readonly engine: FakeEngine;
  readonly proxy: FakeProxy;
  readonly points: Points;
}

export interface TestWorkerOptions {
  readonly settings?: Partial<WorkerSettings>;
  readonly steps?: WorkerOptions["steps"];
  readonly watch?: CallWatch;
  /** Stores for the worker. Default: the real ones. */
  readonly stores?: SystemStores;
  readonly redactor?: WorkerOptions["redactor"];
  readonly clock?: WorkerOptions["clock"];
  readonly credentialsFor?: WorkerOptions["credentialsFor"];
  readonly notifications?: WorkerOptions["notifications"];
  readonly sendLogs?: WorkerOptions["sendLogs"];
  /** Default: no certificates are watched. */
  readonly sites?: WorkerOptions["sites"];
  readonly drivesClusters?: WorkerOptions["drivesClusters"];
}

export interface TestWorker extends Worker {
  /** Name of the worker as owner of leases. */
  readonly name: string;
  readonly life: Life;
  /** Like `kill -9`: pending calls have no effect, and nothing is cleaned up. */
  kill(): void;
}

const GIB = 1024 ** 3;

/** The product's settings with shorter times. */
const QUICK: Partial<WorkerSettings> = {
  leaseSeconds: 1,
  renewSeconds: 0.2,
  pollSeconds: 0.3,
  idleSeconds: 0.3,
  reconcileSeconds: 0.3,
  serverLeaseSeconds: 1,
  restSeconds: 0.2,
  proxyLookSeconds: 0.2,
  drainSecondsMax: 1,
  logFlushMs: 10,
  abortSecondsMax: 2,
  routeSecondsMax: 1,
  moveRetrySeconds: 0.1,
  validationSeconds: 1,
  taskFlushMs: 10,
  logDrainFlushMs: 10,
  logDrainRetrySeconds: 0.1,
  certificateSeconds: 0.05,
  certificateFirstSeconds: 0.05,
  certificateGraceSeconds: 0.2,
  certificateRetrySecondsMax: 0.1,
  certificateKeptSeconds: 0.1,
  probeSeconds: 0.1,
  probeTimeoutSeconds: 0.3,
  giveUpServerSeconds: 1,
};

export async function openWorld(database: TestDatabase, settings: Partial<ServerSettings> = {}): Promise<World> {
  const { system } = database;
  const stores = database.stores();
  const place = await testPlace(stores, { concurrent_builds: 100, ...settings });
  const stops = points();
  const engine = fakeEngine(stops);
  const proxy = fakeProxy(stops);
  const source = fakeSource(stops);
  const workers: TestWorker[] = [];
  const builders = new Map<number, BuildServer>();
  const warnings: string[] = [];
  const tell = (message: string, details?: object) => {
    const error = details && "error" in details ? details.error : undefined;
    warnings.push(`${message} ${error instanceof Error ? error.message : (JSON.stringify(error) ?? "")}`);
  };

  const world: World = {
    database,
    points: stops,
    engine,
    proxy,
    source,
    stores,
    system,
    warnings,
    server: place.server,
    cleaner: undefined,
    disk: { totalBytes: 100 * GIB, freeBytes: 50 * GIB },
    machine: undefined,
    async buildServer() {
      const own = points();
      const server = await stores.servers.insert({
        uuid: testUuid(),
        name: `builder-${builders.size + 1}`,
        description: null,
        ip: `${testUuid()}.example.com`,
        port: 22,
        user: "root",
        engine: "docker",
        proxy_type: "none",
        settings: ServerSettings.parse({ is_reachable: true, is_usable: true, is_build_server: true }),
      });
      const made = { server, engine: fakeEngine(own), points: own, proxy: fakeProxy(own) };
      made.engine.registry = engine.registry;
      builders.set(server.id, made);
      return made;
    },
    async application(settings = {}) {
      const git_repository = "https://git.example/team/hello.git";
      const application = await testApplication(stores, place, { settings: { git_repository, ...settings } });
      const host = `${application.uuid}.example.com`;
      await stores.domains.claim(application.id, [{ host, path: "/", url: `https://${host}` }], {
        takeFromOwnTeam: false,
      });
      await stores.resources.setDesiredState(application.id, "running");
      return (await stores.applications.find(application.uuid)) ?? application;
    },
    async deploy(resource, fields = {}) {
      const [outcome] = await stores.deployments.enqueue([newDeployment(resource, { commit: "HEAD", ...fields })]);
      if (outcome?.outcome !== "queued") throw new Error(`The deployment was not queued: ${outcome?.outcome}`);
      return outcome.deployment;
    },
    worker({ settings: own, steps, watch, stores: seen = system, ...options } = {}) {
      const owner = life();
      const name = testUuid();
      const made = worker({
        stores: killable(seen, owner, watch),
        engineFor: ({ id }) => killable((builders.get(id)?.engine ?? engine).for(owner), owner, watch, "engine"),
        proxyFor: ({ id }) => killable(builders.get(id)?.proxy ?? proxy, owner, watch, "proxy"),
        source: killable(source, owner, watch, "source"),
        redactor: options.redactor ?? redactAll,
        credentialsFor: options.credentialsFor ?? (async () => undefined),
        notifications: options.notifications && killable(options.notifications, owner, watch, "notifications"),
        sendLogs: options.sendLogs && killable({ send: options.sendLogs }, owner, watch, "logs").send,
        sites: options.sites && killable(options.sites, owner, watch, "sites"),
        clock: options.clock ?? { now: () => new Date() },
        diskOf: async () => world.disk,
        // Not of servers that earlier tests left in the same database with unfinished jobs.
        machineOf: ({ id, engine }) =>
          id >= place.server.id && ENGINES[engine].hasContainers ? world.machine : undefined,
        drivesClusters: options.drivesClusters,
        owner: name,
        cleanerFor: () => world.cleaner,
        ownsServer: ({ id }) => id === place.server.id || builders.has(id),
        logger: { debug: () => undefined, info: () => undefined, warn: tell, error: tell },
        settings: { ...QUICK, ...own },
        steps,
      });
      const test: TestWorker = { ...made, name, life: owner, kill: () => owner.kill() };
      workers.push(test);
      test.start();
      return test;
    },
    async find({ id }) {
      const found = await system.deployments.find(id);
      if (found === undefined) throw new Error("The deployment is gone.");
      return found;
    },
    ended: (deployment) =>
      until(
        async () => {
          const found = await world.find(deployment);
          return isTerminal(found.status) ? found : undefined;
        },
        // A bound for one that hangs: a slow machine needs half a minute for one that is taken over several times.
        { what: "the deployment ends", seconds: 120 },
      ),
    async steps({ id }) {
      const rows = await system.deployments.steps(id);
      return Object.fromEntries(rows.map(({ name, status }) => [name, status]));
    },
    async log({ id }) {
      const lines = await stores.deployments.log(id, {});
      return lines.map(({ output }) => output).join("\n");
    },
    status: async ({ id }) => (await system.resources.find(id))?.status,
    async close() {
      await Promise.all(workers.filter((each) => !each.life.isOver).map((each) => each.stop({ graceSeconds: 0 })));
      await engine.close();
    },
  };
  return world;
}

function redactAll(secrets: Iterable<string>): (line: string) => string {
  const known = [...secrets];
  return (line) => known.reduce((text, secret) => text.replaceAll(secret, "[REDACTED]"), line);
}
