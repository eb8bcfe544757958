import { createServer, type Server } from "node:http";
import { DomainError } from "@berth/core";
import type { Artifact, FolderArtifact, ReleaseRef, ReleaseSpec, ReleaseState } from "@berth/core/deploy";
import type {
  ClusterOperations,
  Engine,
  EngineCapabilities,
  LogLine,
  OwnCheck,
  ResourceRemoval,
} from "@berth/core/ports";
import { deploymentOf, type FakeRegistry, fakeImages } from "./fake-images.fixture.ts";
import type { Life } from "./killable.fixture.ts";
import type { Points } from "./points.fixture.ts";

/** Behaviour of a release while it runs. */
export interface Behaviour {
  /** Status of every answer; `() => 503` until it is ready. */
  readonly statusCode?: (() => number) | undefined;
  /** Exits at once with this code. */
  readonly exitCode?: number | undefined;
  /** Whether it listens on a port other than the requested one. */
  readonly isOnWrongPort?: boolean | undefined;
  /** It listens on the loopback address of its container alone. */
  readonly isOnLoopback?: boolean | undefined;
  readonly log?: readonly string[] | undefined;
  /** Result of the release's own check, such as an image's HEALTHCHECK. */
  readonly health?: () => NonNullable<ReleaseState["health"]>;
  readonly healthOutput?: string;
  /** Result of a run of that check, on an engine with containers. */
  readonly ownCheck?: () => OwnCheck;
}

/** An engine in memory whose releases are real HTTP servers. It outlives the workers that use it. */
export interface FakeEngine {
  /** The engine as seen by one worker: that worker's builds end with it. */
  for(owner: Life): Engine;
  behave: (spec: ReleaseSpec) => Behaviour;
  /** Whether it makes images, which outlive their release. */
  keepsBuilds: boolean;
  /** Whether releases can be asked to have several containers, which needs a registry too. They never get them. */
  hasReplicas: boolean;
  /** Where what it makes goes to when it makes real images; else it makes folders. */
  registry: FakeRegistry | undefined;
  /** Of the cluster that it manages. */
  cluster: ClusterOperations | undefined;
  readonly specs: ReadonlyMap<string, ReleaseSpec>;
  /** Number of real starts of each release. */
  readonly starts: ReadonlyMap<string, number>;
  /** Deployment uuids of the existing artifacts. */
  artifacts(): readonly string[];
  releases(): readonly ReleaseState[];
  readonly removedResources: readonly ({ readonly uuid: string } & ResourceRemoval)[];
  /** Removed volumes as `resource/storage`. */
  readonly removedVolumes: readonly string[];
  readonly executed: readonly Executed[];
  /** Whether it reports changes by itself; otherwise it must be asked. */
  isWatched: boolean;
  /** Drops the reported state, as if nothing had been reported. */
  forgetTold(): void;
  /** Permanent container names, by deployment. */
  readonly names: Map<string, string>;
  /** Container names that others use. */
  readonly foreignNames: Set<string>;
  /** Whether it supports `ports_mappings`. */
  mapsPorts: boolean;
  /** Violations of rules that must always be true. */
  readonly violations: readonly string[];
  exec: (script: string) => { readonly exitCode: number; readonly output: string };
  /** The workers that listen to its changes, once for each listener. */
  watchers(): readonly Life[];
  /** Makes a release exit. */
  crash(deploymentUuid: string, exitCode: number, restartCount?: number): Promise<void>;
  /** Removes a release without Berth; its artifact stays. */
  vanish(deploymentUuid: string): Promise<void>;
  /** Removes an artifact. */
  loseArtifact(deploymentUuid: string): void;
  /** Simulates a reboot: nothing runs, but all artifacts remain. */
  stopAll(): Promise<void>;
  close(): Promise<void>;
}

interface Executed {
  readonly deploymentUuid: string;
  readonly script: string;
  readonly container: string | undefined;
}

interface Release {
  spec: ReleaseSpec;
  state: ReleaseState;
  server: Server | undefined;
}

export function fakeEngine(points: Points): FakeEngine {
  const releases = new Map<string, Release>();
  const artifacts = new Set<string>();
  const building = new Map<string, Life>();
  const starts = new Map<string, number>();
  const specs = new Map<string, ReleaseSpec>();
  const removedResources: ({ readonly uuid: string } & ResourceRemoval)[] = [];
  const removedVolumes: string[] = [];
  /** Volumes by the deployment that created them. */
  const volumes = new Map<string, string>();
  const names = new Map<string, string>();
  const foreignNames = new Set<string>();
  const executed: Executed[] = [];
  const violations: string[] = [];
  const listeners = new Map<(state: ReleaseState) => void, Life>();

  /** State at the last event, which may be slightly old. */
  let told: readonly Release[] = [];
  const tellSoon = (state?: ReleaseState) =>
    setTimeout(() => {
      told = [...releases.values()].map((release) => ({ ...release }));
      if (state !== undefined) for (const listener of listeners.keys()) listener(state);
    }, TOLD_MS);

  const change = (release: Release, state: Partial<ReleaseState>) => {
    release.state = { ...release.state, ...state };
    tellSoon(release.state);
  };
  const halt = async (release: Release, state: Partial<ReleaseState>) => {
    const { server } = release;
    release.server = undefined;
    change(release, { state: "exited", upstream: null, ...state });
    await closeServer(server);
  };

  const seen = (release: Release | undefined): ReleaseState | undefined => {
    if (release === undefined) return undefined;
    const { health: check, healthOutput } = fake.behave(release.spec);
    const health = check?.();
    const { containerName: wanted, deploymentUuid } = release.spec;
    const now = names.get(deploymentUuid) ?? deploymentUuid;
    return {
      ...release.state,
      ...(health === undefined ? {} : { health }),
      ...(healthOutput === undefined ? {} : { healthOutput }),
      ...(wanted === undefined ? {} : { containerName: { now, wanted } }),
    };
  };

  const engine = (owner: Life): Engine => ({
    kind: "process",
    get cluster() {
      return fake.cluster;
    },
    get containers() {
      if (fake.registry === undefined) return undefined;
      const notMade = () => Promise.reject(new Error("It forwards nothing and runs no programs."));
      return {
        images: fakeImages(artifacts, fake.registry, points),
        forwards: { list: async () => [], open: notMade, close: async () => undefined },
        command: notMade,
        async scale() {
          await points.pass("scale");
          return await notMade();
        },
        terminal: notMade,
        ownCheck: async ({ deploymentUuid }: ReleaseRef) => {
          const release = releases.get(deploymentUuid);
          return release && fake.behave(release.spec).ownCheck?.();
        },
        ownersOf: async (objects: readonly unknown[]) => objects.map(() => undefined),
      };
    },
    get capabilities() {
      return {
        ...CAPABILITIES,
        port_mappings: fake.mapsPorts,
        keepsBuilds: fake.keepsBuilds,
        replicas: fake.hasReplicas,
      };
    },
    async build({ resourceUuid, deploymentUuid, env }, io): Promise<Artifact> {
      const other = building.get(deploymentUuid);
      if (other !== undefined && !other.isOver) violations.push(`two builds of ${deploymentUuid} at once`);
      building.set(deploymentUuid, owner);
      artifacts.delete(deploymentUuid);
      try {
        io.onLine(`building with ${Object.values(env).join(" ")}`, "stdout");
        await points.pass("build", io.signal);
        if (owner.isOver) return await new Promise<never>(() => undefined);
        artifacts.add(deploymentUuid);
        const image = `berth/${resourceUuid}:${deploymentUuid}`;
        return fake.registry ? { type: "image", image } : artifactOf(resourceUuid, deploymentUuid);
      } catch (cause) {
        if (io.signal.aborted) throw new DomainError("deploy.cancelled", "Cancelled.", { cause });
        throw cause;
      } finally {
        if (building.get(deploymentUuid) === owner) building.delete(deploymentUuid);
      }
    },
    async start(spec, io) {
      await points.pass("start", io.signal);
      if (!artifacts.has(builderOf(spec.artifact))) throw new DomainError("deploy.start_failed", "Its files are gone.");
      const running = releases.get(spec.deploymentUuid);
      if (running?.server !== undefined) return running.state;
      starts.set(spec.deploymentUuid, (starts.get(spec.deploymentUuid) ?? 0) + 1);
      specs.set(spec.deploymentUuid, spec);
      for (const { type, uuid } of spec.storages) {
        if (type === "volume" && !volumes.has(uuid)) volumes.set(uuid, spec.deploymentUuid);
      }
      const release: Release = { spec, state: stateOf(spec), server: undefined };
      releases.set(spec.deploymentUuid, release);
      await launch(release, fake.behave(spec), change);
      return release.state;
    },
    resume: async () => undefined,
    async requireName({ containerName = "" }) {
      if (foreignNames.has(containerName)) throw new DomainError("deploy.start_failed", "The name is taken.");
    },
    async takeName({ deploymentUuid }) {
      const release = releases.get(deploymentUuid);
      const { containerName } = release?.spec ?? {};
      if (release === undefined || containerName === undefined) return;
      if (foreignNames.has(containerName)) throw new DomainError("deploy.start_failed", "The name is taken.");
      await points.pass("take_name");
      for (const [other, name] of names) if (name === containerName) names.delete(other);
      await points.pass("name_free");
      names.set(deploymentUuid, containerName);
      change(release, {});
    },
    async stop(ref) {
      await points.pass("stop");
      const release = releases.get(ref.deploymentUuid);
      if (release !== undefined && release.state.state !== "exited") await halt(release, { exitCode: 143 });
    },
    async remove(ref) {
      await points.pass("remove");
      const release = releases.get(ref.deploymentUuid);
      releases.delete(ref.deploymentUuid);
      names.delete(ref.deploymentUuid);
      tellSoon();
      artifacts.delete(ref.deploymentUuid);
      await closeServer(release?.server);
    },
    inspect: async (ref) => seen(releases.get(ref.deploymentUuid)),
    async list() {
      await points.pass("list");
      return [...releases.values()].flatMap((release) => seen(release) ?? []);
    },
    lastSeen: () => (fake.isWatched ? told.flatMap((release) => seen(release) ?? []) : undefined),
    async exec({ deploymentUuid }, script, { signal, onLine, container }) {
      executed.push({ deploymentUuid, script, container });
      for (const line of fake.exec(script).output.split("\n")) if (line !== "") onLine?.(line);
      await points.pass("exec", signal);
      if (signal?.aborted) throw new DomainError("deploy.cancelled", "Cancelled.");
      return { ...fake.exec(script), isTruncated: false };
    },
    async *logs(ref): AsyncIterable<LogLine> {
      const spec = releases.get(ref.deploymentUuid)?.spec;
      const lines = spec ? (fake.behave(spec).log ?? []) : [];
      for (const [cursor, line] of lines.entries()) yield { cursor: String(cursor), line };
    },
    usage: async (ref) => {
      if (releases.get(ref.deploymentUuid)?.server === undefined) return undefined;
      return { processes: 1, memoryBytes: 1000, cpuSeconds: performance.now() / 1000 };
    },
    async listeningPorts(ref) {
      const release = releases.get(ref.deploymentUuid);
      const isOnLoopback = release !== undefined && fake.behave(release.spec).isOnLoopback;
      return portsOf(release).map((port) => ({ port, ...(isOnLoopback ? { loopback: "127.0.0.1" } : {}) }));
    },
    volumesOf: async ({ deploymentUuid }) => [...volumes].flatMap(([uuid, by]) => (by === deploymentUuid ? uuid : [])),
    async removeVolumes(resourceUuid, mounts) {
      removedVolumes.push(...mounts.map(({ uuid }) => `${resourceUuid}/${uuid}`));
      for (const { uuid } of mounts) volumes.delete(uuid);
    },
    async removeResource(uuid, removal) {
      removedResources.push({ uuid, ...removal });
    },
    onStateChange(listener) {
      const heard = (state: ReleaseState) => {
        if (!owner.isOver) listener(state);
      };
      listeners.set(heard, owner);
      return () => listeners.delete(heard);
    },
  });

  const fake: FakeEngine = {
    keepsBuilds: false,
    hasReplicas: false,
    registry: undefined,
    cluster: undefined,
    for: engine,
    mapsPorts: false,
    isWatched: true,
    behave: () => ({}),
    exec: () => ({ exitCode: 0, output: "" }),
    specs,
    names,
    foreignNames,
    starts,
    artifacts: () => [...artifacts],
    releases: () => [...releases.values()].map(({ state }) => state),
    removedResources,
    removedVolumes,
    executed,
    violations,
    async crash(deploymentUuid, exitCode, restartCount = 0) {
      const release = releases.get(deploymentUuid);
      if (release !== undefined) await halt(release, { exitCode, restartCount });
    },
    watchers: () => [...listeners.values()].filter(({ isOver }) => !isOver),
    forgetTold() {
      told = [];
    },
    async vanish(deploymentUuid) {
      const release = releases.get(deploymentUuid);
      releases.delete(deploymentUuid);
      await closeServer(release?.server);
      if (release !== undefined) change(release, { state: "removing", upstream: null });
    },
    loseArtifact: (deploymentUuid) => void artifacts.delete(deploymentUuid),
    async stopAll() {
      for (const release of releases.values()) if (release.server) await halt(release, { exitCode: 143 });
    },
    async close() {
      for (const { server } of releases.values()) await closeServer(server);
    },
  };
  return fake;
}

const TOLD_MS = 5;

const CAPABILITIES: EngineCapabilities = {
  kinds: ["application"],
  build_packs: ["nixpacks"],
  keepsBuilds: false,
  replicas: false,
  placement: false,
  port_mappings: false,
  networks: false,
  privileged_mounts: false,
  memory_limit: true,
  cpu_limit: true,
};

async function launch(
  release: Release,
  behaviour: Behaviour,
  change: (release: Release, state: Partial<ReleaseState>) => void,
): Promise<void> {
  if (behaviour.exitCode !== undefined) {
    return change(release, { state: "exited", exitCode: behaviour.exitCode, upstream: null });
  }
  const server = createServer((_request, response) => {
    response.writeHead(behaviour.statusCode?.() ?? 200, { connection: "close" });
    response.end(release.spec.deploymentUuid);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  release.server = server;
  const port = portsOf(release)[0] ?? 0;
  // Nothing listens on port 1 of a usual machine, nor on another address than the server.
  const host = behaviour.isOnLoopback ? "127.0.0.2" : "127.0.0.1";
  const upstream = { host, port: behaviour.isOnWrongPort ? 1 : port };
  change(release, { state: "running", upstream, startedAt: new Date() });
}

function portsOf(release: Release | undefined): readonly number[] {
  const address = release?.server?.address();
  return typeof address === "object" && address !== null ? [address.port] : [];
}

async function closeServer(server: Server | undefined): Promise<void> {
  if (server === undefined) return;
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

const stateOf = ({ resourceUuid, deploymentUuid }: ReleaseRef): ReleaseState => ({
  resourceUuid,
  deploymentUuid,
  state: "starting",
  upstream: null,
  restartCount: 0,
  exitCode: null,
  startedAt: null,
});

const artifactOf = (resourceUuid: string, deploymentUuid: string): FolderArtifact => ({
  type: "folder",
  folder: `/releases/${resourceUuid}/${deploymentUuid}`,
  workingFolder: `/releases/${resourceUuid}/${deploymentUuid}`,
  run: { type: "shell", script: "run" },
  detected: "fake",
});

function builderOf(artifact: Artifact): string {
  if (artifact.type === "image") return deploymentOf(artifact.image);
  return artifact.type === "folder" ? (artifact.folder.split("/").at(-1) ?? "") : "";
}
