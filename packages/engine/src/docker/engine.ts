import { DomainError, notFound } from "@berth/core";
import { containersNamed, containerTitle } from "@berth/core/compose";
import { ALL_CONTAINERS, type ReleaseRef, type ReleaseSpec } from "@berth/core/deploy";
import type {
  ContainerOperations,
  Engine,
  EngineCapabilities,
  EngineImages,
  LogQuery,
  WorkIO,
} from "@berth/core/ports";
import { LABELS, labelOf, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type { Host } from "@berth/host";
import type Docker from "dockerode";
import type { ImageBuilder } from "./builder.ts";
import { commandIn } from "./command.ts";
import { rename } from "./compose/member.ts";
import { isStack, removeMadeNetworks, removeStackNetworks, startStack, stopStack } from "./compose/start.ts";
import type { ComposeTool } from "./compose/tool.ts";
import { requireName, takeName } from "./container-name.ts";
import { executeIn } from "./exec.ts";
import { dockerForwarder } from "./forward.ts";
import { lockByKey } from "./lock-by-key.ts";
import { readLog } from "./logs.ts";
import { type LoggedContainer, readMergedLog } from "./merged-logs.ts";
import { type NetworkMore, removeNetworks } from "./networks.ts";
import { ownCheckIn } from "./own-check.ts";
import { ownersOf } from "./owners.ts";
import { listeningPorts } from "./ports.ts";
import { scaleRelease } from "./replicas.ts";
import { removeContainer, resumeContainer, startRelease } from "./start.ts";
import { terminalIn } from "./terminal.ts";
import { sumOf, usageOf } from "./usage.ts";
import { removeVolumes, volumesOf } from "./volumes.ts";
import { type Seen, type SeenContainer, watchReleases } from "./watch.ts";
import { withDomainError, withDomainErrors } from "./with-domain-errors.ts";

export interface DockerEngineOptions {
  readonly host: Host;
  /** Client for the engine of `host`. */
  readonly docker: Docker;
  /** Id of this Berth instance, among all that may use the same engine. */
  readonly instance: string;
  readonly builder: ImageBuilder;
  /** Runs releases of several containers. Without it the engine supports none. */
  readonly compose?: ComposeTool | undefined;
  /** Absent in tests that move no images. */
  readonly images?: EngineImages | undefined;
  /** The network of releases that name none; created when missing. */
  readonly network: string;
  /** For networks that several resources share, when they are created. Default: a bridge of this server. */
  readonly networkOptions?: NetworkMore | undefined;
  /** Interval of full snapshots, which find changes without an event. Default 30. */
  readonly resyncSeconds?: number;
  /** Receives failures of background work. */
  readonly warn?: (message: string, cause: unknown) => void;
}

/** Runs applications as containers of one server. */
export interface DockerEngine extends Engine {
  readonly containers: ContainerOperations;
  /** Begins to follow the engine's events, as every other call does too. @throws DomainError `engine.unreachable` */
  open(): Promise<void>;
  /** Closes the engine object, which cannot be used afterwards. Containers continue unless they are to be stopped. */
  close(options: { readonly stopReleases: boolean; readonly graceSeconds?: number }): Promise<void>;
}

export const STOP_GRACE_SECONDS = 10; // Docker's own default for "docker stop".
const RESYNC_SECONDS = 30;

export function dockerEngine(options: DockerEngineOptions): DockerEngine {
  const { host, docker, instance, builder, network, warn = () => {} } = options;
  const watch = watchReleases({ docker, instance, resyncSeconds: options.resyncSeconds ?? RESYNC_SECONDS, warn });
  const alone = lockByKey();
  const { networkOptions } = options;
  const forwards = dockerForwarder({ docker, server: host.name, instance, networkOptions });

  async function require(ref: ReleaseRef): Promise<Seen> {
    const seen = await watch.find(ref);
    if (seen === undefined) throw notFound("Release");
    return seen;
  }

  async function requireContainer(ref: ReleaseRef, name: string | undefined): Promise<string> {
    const { id, containers } = await require(ref);
    if (name === undefined) return id;
    const meant = containersNamed(
      containers.map(({ container }) => container),
      name,
    );
    // Several containers match: the first running one is chosen.
    const chosen = meant.find(({ state }) => state === "running") ?? meant[0];
    const found = containers.find(({ container }) => container === chosen);
    if (found === undefined) throw notFound("Container");
    return found.id;
  }

  /** All containers of a release; none after its removal. */
  async function containersOf(ref: ReleaseRef): Promise<readonly LoggedContainer[]> {
    const seen = await watch.find(ref);
    if (seen === undefined) return [];
    const { id, containers } = seen;
    if (containers.length === 0) return [{ id, title: undefined }];
    return containers.map((one) => ({ id: one.id, title: containerTitle(one.container) }));
  }

  async function stop(ref: ReleaseRef, graceSeconds: number): Promise<void> {
    const seen = await leaveShared(ref);
    if (seen !== undefined) await stopSeen(seen, graceSeconds);
  }

  async function stopSeen({ id, containers }: Seen, graceSeconds: number, isAtOnce = false): Promise<void> {
    if (containers.length === 0) return await stopContainer(docker, id, graceSeconds);
    const stopOne = (one: SeenContainer) => stopContainer(docker, one.id, graceOf(one, graceSeconds));
    if (isAtOnce) await Promise.all(containers.map(stopOne));
    else await stopStack(containers, stopOne);
  }

  /** Gives up containers that another release also owns; returns the others. */
  async function leaveShared(ref: ReleaseRef): Promise<Seen | undefined> {
    const shared = (await watch.find(ref))?.containers.filter(({ owners }) => owners.length > 1) ?? [];
    for (const { id } of shared) {
      await alone(`container ${id}`, async () => {
        const now = (await watch.find(ref))?.containers.find((one) => one.id === id);
        const others = now?.owners.filter((owner) => owner !== ref.deploymentUuid) ?? [];
        if (now !== undefined && others.length > 0) await rename(docker.getContainer(id), now.info.Name, ref, others);
      });
    }
    return await watch.find(ref);
  }

  async function removeSeen({ id, info, state, containers }: Seen, keepsNetworks: boolean): Promise<void> {
    const ids = containers.length === 0 ? [id] : containers.map((one) => one.id);
    await Promise.all(ids.map((one) => removeContainer(docker.getContainer(one))));
    const scope = labelOf(info.Config.Labels, LABELS.scope);
    if (scope !== undefined && !keepsNetworks)
      await removeStackNetworks({ docker, instance }, state.resourceUuid, scope);
  }

  async function start(spec: ReleaseSpec, io: WorkIO): Promise<void> {
    if (!isStack(spec)) {
      await startRelease({ host, docker, instance, network, seen: await watch.find(spec) }, spec, io);
    } else if (options.compose === undefined) {
      throw new DomainError("engine.unsupported", `Server ${host.name} runs no compose files.`);
    } else {
      const { deploymentUuid: own, resourceUuid } = spec;
      const place = {
        ...{ docker, server: host.name, instance, networkOptions, tool: options.compose },
        seen: (deploymentUuid = own) => watch.find({ resourceUuid, deploymentUuid }),
        stop: (containers: readonly SeenContainer[]) =>
          stopStack(containers, (one) => stopContainer(docker, one.id, graceOf(one, STOP_GRACE_SECONDS))),
      };
      await startStack(place, spec, io);
    }
  }

  const engine: DockerEngine = {
    kind: "docker",
    capabilities: capabilitiesOf(options),
    containers: {
      images: options.images,
      forwards,
      async command(ref, command, io) {
        const { id } = await require(ref);
        const run = () => commandIn(docker, id, command, io);
        // Commands with the same private file would overwrite it for each other.
        return command.file === undefined ? await run() : await alone(`${id} ${command.file.path}`, run);
      },
      terminal: async (ref, size, { container, command } = {}) =>
        terminalIn(docker, await requireContainer(ref, container), { size, command }),
      async ownCheck(ref, signal, container) {
        const [{ info, containers }, id] = await Promise.all([require(ref), requireContainer(ref, container)]);
        return ownCheckIn(docker, containers.find((one) => one.id === id)?.info ?? info, signal);
      },
      scale: (ref, replicas, { graceSeconds, files }) =>
        alone(ref.deploymentUuid, async () => {
          const seen = await watch.findAll(ref);
          if (seen === undefined || isOfStack(seen)) return undefined;
          const stop = (one: SeenContainer) => stopContainer(docker, one.id, graceOf(one, graceSeconds));
          await scaleRelease({ docker, seen, files, stop }, ref, replicas);
          return (await watch.findAll(ref))?.state;
        }),
      ownersOf: (objects) => ownersOf({ docker, instance }, objects),
    },
    async open() {
      watch.follow()();
      await withDomainError(host.name, () => docker.ping());
    },
    async close({ stopReleases, graceSeconds = STOP_GRACE_SECONDS }) {
      const stopAll = async () => {
        const byResource = Map.groupBy(await watch.list(), ({ resourceUuid }) => resourceUuid);
        const stopAllOf = async (own: readonly ReleaseRef[]) => {
          for (const release of own) await stop(release, graceSeconds);
        };
        await Promise.all([...byResource.values()].map(stopAllOf));
      };
      try {
        if (stopReleases) await withDomainError(host.name, stopAll);
      } finally {
        watch.close();
      }
    },
    build: (request, io) => builder.build(request, io),
    start: (spec, io) =>
      alone(spec.deploymentUuid, async () => {
        await start(spec, io);
        const seen = await watch.findAll(spec);
        if (seen === undefined) throw notFound("Release");
        return seen.state;
      }),
    resume: (ref) =>
      alone(ref.deploymentUuid, async () => {
        const seen = await watch.find(ref);
        if (seen === undefined || isOfStack(seen)) return undefined;
        for (const one of seen.containers.length === 0 ? [seen] : seen.containers) {
          if (!(await resumeContainer(docker, one))) return undefined;
        }
        return (await require(ref)).state;
      }),
    async requireName({ containerName, resourceUuid }) {
      if (containerName !== undefined)
        await requireName({ docker, server: host.name, instance }, containerName, resourceUuid);
    },
    // Serialised: two releases of a resource would take the name from each other.
    takeName: (ref) =>
      alone(ref.resourceUuid, async () => {
        const seen = await watch.find(ref);
        if (seen !== undefined) await takeName({ docker, server: host.name, instance }, seen);
      }),
    stop: (ref, { graceSeconds }) => alone(ref.deploymentUuid, () => stop(ref, graceSeconds)),
    remove: (ref, removal = {}) =>
      alone(ref.deploymentUuid, async () => {
        const { graceSeconds = STOP_GRACE_SECONDS, isAtOnce, keepsImages = false, keepsNetworks = false } = removal;
        const seen = await leaveShared(ref);
        if (seen !== undefined) {
          await stopSeen(seen, graceSeconds, isAtOnce);
          await removeSeen(seen, keepsNetworks);
        }
        if (!keepsNetworks) await removeMadeNetworks({ docker, instance }, ref);
        if (!keepsImages) await builder.removeImage(ref);
      }),
    inspect: async (ref) => (await watch.find(ref))?.state,
    list: () => watch.list(),
    lastSeen: () => watch.lastSeen(),
    exec: async (ref, script, execOptions) =>
      executeIn(docker, await requireContainer(ref, execOptions.container), script, execOptions),
    async *logs(ref, query) {
      const changed = (signal: AbortSignal | undefined) => watch.changed(ref, signal);
      const read = (containerId: string, own: LogQuery) => readLog({ docker, containerId, changed }, own);
      const { container } = query;
      const isOfAll = container === ALL_CONTAINERS || (container === undefined && !isOfStack(await require(ref)));
      if (isOfAll) yield* readMergedLog({ containers: () => containersOf(ref), read, changed }, query);
      else yield* read(await requireContainer(ref, container), query);
    },
    async listeningPorts(ref) {
      const seen = await watch.find(ref);
      return seen?.state.state === "running" ? await listeningPorts(docker, seen.id) : [];
    },
    volumesOf: (ref) => volumesOf(docker, { instance, ...ref }),
    removeVolumes: (resourceUuid, volumes) =>
      removeVolumes(
        docker,
        { instance, resourceUuid },
        volumes.map(({ uuid }) => uuid),
      ),
    async removeResource(resourceUuid, { deleteVolumes, ...kept }) {
      const own = (await watch.list()).filter((release) => release.resourceUuid === resourceUuid);
      // Sequential: two releases with a common container would each leave it to the other.
      for (const release of own) await engine.remove(release, kept);
      await forwards.close(resourceUuid);
      if (!kept.keepsNetworks)
        await removeNetworks(docker, { ...ownedLabels(instance), [LABELS.resource]: resourceUuid });
      if (!kept.keepsImages) await builder.removeImages(resourceUuid);
      if (deleteVolumes) await removeVolumes(docker, { instance, resourceUuid });
    },
    onStateChange: (listener) => watch.onChange(listener),
    async usage(ref) {
      const ids = await watch.runningIds(ref);
      return sumOf(await Promise.all(ids.map((id) => usageOf(docker, id))));
    },
  };
  return withDomainErrors(engine, host.name, () => watch.follow());
}

/** Stop grace period of the compose file, unless the caller's is shorter. */
const graceOf = ({ info }: SeenContainer, graceSeconds: number): number =>
  graceSeconds < STOP_GRACE_SECONDS ? graceSeconds : (stopTimeoutOf(info) ?? graceSeconds);

/** The client's types lack this field. */
function stopTimeoutOf({ Config }: SeenContainer["info"]): number | undefined {
  const StopTimeout: unknown = Reflect.get(Config, "StopTimeout");
  return typeof StopTimeout === "number" && StopTimeout >= 0 ? StopTimeout : undefined;
}

/** Containers of a stack are those of its compose file, which also says how many. */
const isOfStack = ({ containers }: Seen): boolean =>
  containers.some(({ info }) => labelOf(info.Config.Labels, LABELS.scope) !== undefined);

const capabilitiesOf = ({ builder }: DockerEngineOptions): EngineCapabilities => ({
  kinds: ["application", "database", "service"],
  build_packs: builder.buildPacks,
  keepsBuilds: true,
  replicas: true,
  placement: false,
  port_mappings: true,
  networks: true,
  privileged_mounts: true,
  memory_limit: true,
  cpu_limit: true,
});

/** Idempotent. */
export async function stopContainer(docker: Docker, id: string, graceSeconds: number): Promise<void> {
  try {
    await docker.getContainer(id).stop({ t: Math.ceil(graceSeconds) });
  } catch (cause) {
    const code = statusCodeOf(cause);
    // 304: it has stopped already. 404: it was removed.
    if (code !== 304 && code !== 404) throw cause;
  }
}
