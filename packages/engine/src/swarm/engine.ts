import type { Duplex } from "node:stream";
import { DomainError, isDomainError, notFound } from "@berth/core";
import { containersNamed, containerTitle } from "@berth/core/compose";
import { ALL_CONTAINERS, mainContainer, type ReleaseContainer, type ReleaseRef } from "@berth/core/deploy";
import type { ContainerOperations, Engine, EngineCapabilities, EngineImages, LogQuery } from "@berth/core/ports";
import { releaseFilter, TASK_ROLE } from "@berth/docker-client";
import type { Host } from "@berth/host";
import type Docker from "dockerode";
import type { ImageBuilder } from "../docker/builder.ts";
import { commandIn } from "../docker/command.ts";
import { DEPENDS_ON, dependenciesOf, stopOrder } from "../docker/compose/order.ts";
import { isStack } from "../docker/compose/start.ts";
import type { ComposeTool } from "../docker/compose/tool.ts";
import { STOP_GRACE_SECONDS, stopContainer } from "../docker/engine.ts";
import { executeIn } from "../docker/exec.ts";
import { dockerForwarder } from "../docker/forward.ts";
import { lockByKey } from "../docker/lock-by-key.ts";
import { readLog } from "../docker/logs.ts";
import { type LoggedContainer, readMergedLog } from "../docker/merged-logs.ts";
import { OVERLAY } from "../docker/networks.ts";
import { ownCheckIn } from "../docker/own-check.ts";
import { removeOwnImages } from "../docker/own-images.ts";
import { ownersOf } from "../docker/owners.ts";
import { listeningPorts } from "../docker/ports.ts";
import { removeContainer } from "../docker/start.ts";
import { terminalIn } from "../docker/terminal.ts";
import { sumOf, usageOf } from "../docker/usage.ts";
import { removeVolumes, volumesOf } from "../docker/volumes.ts";
import { withDomainErrors } from "../docker/with-domain-errors.ts";
import { clusterOperations } from "./cluster.ts";
import { removeFilesContainers } from "./images.ts";
import { Managers } from "./managers.ts";
import { removeOverlays } from "./network.ts";
import { NodeKeeper } from "./node-keeper.ts";
import type { ReadNodes, SwarmNode } from "./nodes.ts";
import { unpinStorages } from "./placement.ts";
import { TaskConnector } from "./reach.ts";
import { scaleService } from "./scale.ts";
import type { SeenRelease, TaskContainer } from "./seen-release.ts";
import { type FoundService, resumed, Services, stopped } from "./services.ts";
import { fittingPlan, startClusterStack } from "./stack.ts";
import { requireNodes, startService, type WhileNodesStay } from "./start.ts";
import { ClusterWatch } from "./watch.ts";

export interface SwarmEngineOptions {
  /** A manager. */
  readonly host: Host;
  /** Client for the engine of a manager, which may be another one than `host`. */
  readonly docker: Docker;
  /** Client for the engine of `host`, which has the public ports. Default: `docker`. */
  readonly ownDocker?: Docker | undefined;
  /** Id of this Berth instance, among all that may use the same swarm. */
  readonly instance: string;
  /** Builds on a manager. */
  readonly builder: ImageBuilder;
  readonly images?: EngineImages | undefined;
  /** Reads compose files. Without it, they are refused. */
  readonly compose?: ComposeTool | undefined;
  /** Its nodes that are servers of Berth's, the manager among them. Only these run releases. */
  readonly nodes: ReadNodes;
  /** The network of releases that name none; created when missing. */
  readonly network: string;
  /** Interval of full snapshots, which find changes without an event. Default 30. */
  readonly resyncSeconds?: number;
  /** How long a start waits for nodes that Berth reaches and the managers count as lost. Default 15. */
  readonly returnSeconds?: number;
  /** Receives failures of background work. */
  readonly warn?: (message: string, cause: unknown) => void;
}

interface Stop {
  readonly graceSeconds: number;
  readonly isAtOnce?: boolean | undefined;
  /** Default: all of its services. */
  readonly isMeant?: (service: FoundService) => boolean;
}

/** Runs releases as services of a Docker Swarm. */
export interface SwarmEngine extends Engine {
  readonly containers: ContainerOperations;
  /** Opens a connection to the address of a container, which only the cluster itself can reach, or of its manager. */
  connect(address: { readonly host: string; readonly port: number }, signal?: AbortSignal): Promise<Duplex>;
  /** Whether the release is known to be one of the swarm's, without asking. */
  hasSeen(ref: ReleaseRef): boolean;
  close(): Promise<void>;
}

const RESYNC_SECONDS = 30;
/** After an outage of a manager, its nodes report to it again within some 8 s. */
const RETURN_SECONDS = 15;

export function swarmEngine(options: SwarmEngineOptions): SwarmEngine {
  const { host, docker, instance, builder, network, nodes, warn = () => {} } = options;
  const services = new Services(docker, instance);
  const { resyncSeconds = RESYNC_SECONDS, returnSeconds = RETURN_SECONDS } = options;
  const closing = new AbortController();
  const alone = lockByKey();
  const whileNodesStay: WhileNodesStay = (work) => alone("nodes", work);
  const keeper = new NodeKeeper({ docker, services, instance, nodes, whileNodesStay, signal: closing.signal, warn });
  const onNodes = keeper.look.bind(keeper);
  const times = { resyncSeconds, returnSeconds };
  const watch = new ClusterWatch({ docker, services, instance, nodes, ...times, warn, onNodes });
  const connector = new TaskConnector(instance);
  const forwards = dockerForwarder({
    docker: options.ownDocker ?? docker,
    server: host.name,
    instance,
    networkOptions: OVERLAY,
  });

  async function require(ref: ReleaseRef): Promise<SeenRelease> {
    const seen = await watch.find(ref);
    if (seen === undefined) throw notFound("Release");
    return seen;
  }

  async function requireContainer(ref: ReleaseRef, name: string | undefined): Promise<TaskContainer> {
    const seen = await require(ref);
    const { containers } = seen;
    const all = containers.map(({ container }) => container);
    const wanted = name ?? mainName(seen);
    const named = wanted === undefined ? all : containersNamed(all, wanted);
    const meant = containers.filter(({ container }) => named.includes(container));
    // The newest of those that run: a task that ended left its container behind.
    const found = meant.findLast(({ info }) => info.State.Running) ?? meant.at(-1);
    if (meant.length === 0 && all.length > 0 && name !== undefined) throw unknownContainer(name, all);
    if (found?.info.State.Running !== true) await requireNodes({ services, watch }, seen).catch(unplaced);
    if (found === undefined) throw notRunning();
    return found;
  }

  /** Stops its services, each before those that it depends on. */
  async function stop(ref: ReleaseRef, { graceSeconds, isAtOnce = false, isMeant = () => true }: Stop): Promise<void> {
    const own = (await services.of(ref)).filter(isMeant).map((service) => ({
      service,
      name: service.member?.name ?? "",
      dependsOn: isAtOnce ? [] : dependenciesOf(service.labels[DEPENDS_ON]),
    }));
    for (const group of stopOrder(own)) {
      await Promise.all(group.map(({ service }) => stopService(service, graceSeconds)));
    }
  }

  /** Ends its tasks. With a grace time shorter than Swarm's own, which it would wait for. */
  async function stopService(service: FoundService, graceSeconds: number): Promise<void> {
    const { ref, member } = service;
    if ((await services.update(service, stopped)) === undefined) return;
    const isRunning = ({ info, container }: TaskContainer) =>
      info.State.Running && (member === undefined || container.name === member.name);
    const running = (await watch.find(ref))?.containers.filter(isRunning) ?? [];
    const own = graceSeconds < STOP_GRACE_SECONDS ? graceSeconds : Math.max(graceSeconds, service.graceSeconds);
    await Promise.all(running.map(({ id, node }) => stopContainer(node.docker, id, own)));
    for (;;) {
      const changed = watch.changed(ref, undefined);
      const now = await watch.find(ref);
      if (now === undefined || !now.containers.some(isRunning)) return;
      await changed;
    }
  }

  async function remove({ ref, services: own, containers }: SeenRelease): Promise<void> {
    for (const service of own) await services.remove(service);
    await Promise.all(containers.map(({ id, node }) => removeContainer(node.docker.getContainer(id))));
    await onReachedNodes((node) => removeLeftovers(node, instance, ref));
  }

  /** Stops the services of these containers of a release. */
  const stopSome = async (containers: readonly TaskContainer[]): Promise<void> => {
    const [first] = containers;
    if (first === undefined) return;
    const names = new Set(containers.map(({ container }) => container.name));
    const isMeant = ({ member }: FoundService) => names.has(member?.name ?? "");
    await stop(first.part.state, { graceSeconds: STOP_GRACE_SECONDS, isMeant });
  };

  /** Removes the networks of a resource that none of its services is in. */
  const removeStackNetworks = async (resourceUuid: string): Promise<void> => {
    const joined = (await services.of({ resourceUuid })).flatMap(({ networks }) => networks);
    const nodes = (await watch.answeringNodes()).map(({ node }) => node.docker);
    await removeOverlays({ docker, nodes, instance }, resourceUuid, joined);
  };

  const onAllNodes = async (work: (node: SwarmNode) => Promise<unknown>): Promise<void> => {
    const ready = await watch.readyNodes();
    await Promise.all(ready.map(({ node }) => work(node)));
  };

  /**
   * Also those that the managers do not reach: after an outage of a manager they count as lost for a while. The cleanup
   * of a server removes later what is left on one that does not answer now.
   */
  const onReachedNodes = async (work: (node: SwarmNode) => Promise<unknown>): Promise<void> => {
    const reached = await watch.reachedNodes();
    await Promise.all(reached.map(({ node }) => work(node)));
  };

  /** From each node, since all had to have them. */
  const removeImages = async (of: Parameters<typeof removeOwnImages>[1], node: SwarmNode): Promise<void> =>
    await removeOwnImages({ docker: node.docker, server: node.name, instance }, of);

  const readFrom = (ref: ReleaseRef, containers: readonly TaskContainer[]) => (containerId: string, own: LogQuery) => {
    const node = containers.find(({ id }) => id === containerId)?.node;
    const changed = (signal: AbortSignal | undefined) => watch.changed(ref, signal);
    return readLog({ docker: node?.docker ?? docker, containerId, changed }, own);
  };

  async function* logs(ref: ReleaseRef, query: LogQuery) {
    const first = await require(ref);
    let { containers: known, isComplete } = first;
    const read = (containerId: string, own: LogQuery) => readFrom(ref, known)(containerId, own);
    const { container } = query;
    const wanted = container === ALL_CONTAINERS ? undefined : (container ?? mainName(first));
    const containers = async (): Promise<readonly LoggedContainer[]> => {
      const seen = await watch.find(ref);
      if (seen === undefined) return [];
      ({ containers: known, isComplete } = seen);
      const all = known.map((one) => one.container);
      const named = wanted === undefined ? all : containersNamed(all, wanted);
      const hasSeveral =
        seen.services.reduce((sum, { replicas }) => sum + replicas, 0) > 1 &&
        (wanted === undefined || seen.services.some(({ member }) => member?.name === wanted && member.isNumbered));
      return known
        .filter((one) => named.includes(one.container))
        .map((one) => ({ id: one.id, title: hasSeveral ? containerTitle(one.container) : undefined }));
    };
    const changed = (signal: AbortSignal | undefined) => watch.changed(ref, signal);
    yield* readMergedLog({ containers, read, changed, areReplaced: true, isComplete: () => isComplete }, query);
  }

  const engine: SwarmEngine = {
    kind: "swarm",
    capabilities: capabilitiesOf(options),
    containers: {
      images: options.images,
      forwards,
      async command(ref, command, io) {
        const { id, node } = await requireContainer(ref, undefined);
        const run = () => commandIn(node.docker, id, command, io);
        return command.file === undefined ? await run() : await alone(`${id} ${command.file.path}`, run);
      },
      async terminal(ref, size, { container, command } = {}) {
        const { id, node } = await requireContainer(ref, container);
        return await terminalIn(node.docker, id, { size, command });
      },
      async ownCheck(ref, signal, container) {
        const { info, node } = await requireContainer(ref, container);
        return await ownCheckIn(node.docker, info, signal);
      },
      scale: (ref, replicas) => alone(ref.deploymentUuid, () => scaleService({ services, watch }, ref, replicas)),
      async requireNodes(ref) {
        const seen = await watch.find(ref);
        if (seen !== undefined) await requireNodes({ services, watch }, seen);
      },
      requireFit: (spec) => void (isStack(spec) && fittingPlan(spec, instance)),
      ownersOf: (objects) => ownersOf({ docker, instance }, objects),
    },
    cluster: {
      ...clusterOperations(docker, { services, managers: new Managers(docker, host.name), adapters: nodes }),
      changed: (signal) => watch.nextLook(signal),
    },
    connect: async (address, signal) => {
      const readyNodes = async () => (await watch.readyNodes()).map(({ node }) => node);
      const task = await connector.connect(
        { running: watch.runningAt(address.host), nodes: readyNodes },
        address,
        signal,
      );
      return task ?? (await host.connectTcp(address, signal));
    },
    async close() {
      closing.abort();
      watch.close();
    },
    build: (request, io) => builder.build(request, io),
    start: (spec, io) =>
      alone(spec.deploymentUuid, async () => {
        const place = { docker, instance, network, services, watch, whileNodesStay, returnSeconds, remove };
        if (!isStack(spec)) await startService(place, spec, io);
        else if (options.compose === undefined) throw noCompose(host.name);
        else await startClusterStack({ ...place, tool: options.compose, stop: stopSome }, spec, io);
        return (await require(spec)).state;
      }),
    resume: (ref) =>
      alone(ref.deploymentUuid, async () => {
        for (const service of await services.of(ref)) await services.update(service, resumed);
        return (await watch.find(ref))?.state;
      }),
    // A service's name is permanent. The lasting name is an alias of its tasks, which releases share while both run.
    requireName: async () => {},
    takeName: async () => {},
    stop: (ref, { graceSeconds }) => alone(ref.deploymentUuid, () => stop(ref, { graceSeconds })),
    remove: (ref, removal = {}) =>
      alone(ref.deploymentUuid, async () => {
        const { graceSeconds = STOP_GRACE_SECONDS, isAtOnce, keepsImages = false, keepsNetworks = false } = removal;
        await stop(ref, { graceSeconds, isAtOnce });
        const seen = await watch.find(ref);
        if (seen !== undefined) await remove(seen);
        if (!keepsNetworks) await removeStackNetworks(ref.resourceUuid);
        await onReachedNodes(async (node) => {
          await removeFilesContainers(node.docker, instance, ref);
          if (!keepsImages) await removeImages(ref, node);
        });
      }),
    inspect: async (ref) => (await watch.find(ref))?.state,
    list: () => watch.list(),
    hasSeen: (ref) => watch.hasSeen(ref),
    lastSeen: () => watch.lastSeen(),
    async exec(ref, script, execOptions) {
      const { id, node } = await requireContainer(ref, execOptions.container);
      return await executeIn(node.docker, id, script, execOptions);
    },
    logs,
    async listeningPorts(ref) {
      const seen = await watch.find(ref);
      const main = seen && mainName(seen);
      const running = seen?.containers.findLast(
        ({ info, container }) => info.State.Running && (main === undefined || container.name === main),
      );
      return running === undefined ? [] : await listeningPorts(running.node.docker, running.id);
    },
    async volumesOf(ref) {
      const ready = await watch.readyNodes();
      const found = await Promise.all(ready.map(({ node }) => volumesOf(node.docker, { instance, ...ref })));
      return [...new Set(found.flat())];
    },
    async removeVolumes(resourceUuid, volumes) {
      const uuids = volumes.map(({ uuid }) => uuid);
      await onAllNodes((node) => removeVolumes(node.docker, { instance, resourceUuid }, uuids));
      await unpinStorages(docker, uuids);
    },
    async removeResource(resourceUuid, { deleteVolumes, ...kept }) {
      const own = (await watch.list()).filter((release) => release.resourceUuid === resourceUuid);
      for (const release of own) await engine.remove(release, kept);
      await forwards.close(resourceUuid);
      if (!kept.keepsNetworks) await removeStackNetworks(resourceUuid);
      if (!kept.keepsImages) await onReachedNodes((node) => removeImages({ resourceUuid }, node));
      if (!deleteVolumes) return;
      const ready = await watch.readyNodes();
      const uuids = await Promise.all(ready.map(({ node }) => volumesOf(node.docker, { instance, resourceUuid })));
      await onAllNodes((node) => removeVolumes(node.docker, { instance, resourceUuid }));
      await unpinStorages(docker, uuids.flat());
    },
    onStateChange: (listener) => watch.onChange(listener),
    async usage(ref) {
      const isRunning = ({ info }: TaskContainer) => info.State.Running;
      const running = watch.runningOf(ref) ?? (await watch.find(ref))?.containers.filter(isRunning) ?? [];
      return sumOf(await Promise.all(running.map(({ id, node }) => usageOf(node.docker, id))));
    },
  };
  return withDomainErrors(engine, host.name, () => watch.follow());
}

/** A container of an earlier attempt, or one that the swarm has not removed yet. */
async function removeLeftovers({ docker }: SwarmNode, instance: string, ref: ReleaseRef): Promise<void> {
  const found = await docker.listContainers({ all: true, filters: { ...releaseFilter(instance, ref, TASK_ROLE) } });
  await Promise.all(found.map(({ Id }) => removeContainer(docker.getContainer(Id))));
}

const capabilitiesOf = ({ builder, compose }: SwarmEngineOptions): EngineCapabilities => ({
  kinds: ["application", "database", ...(compose === undefined ? [] : (["service"] as const))],
  build_packs: builder.buildPacks,
  keepsBuilds: true,
  replicas: true,
  placement: true,
  port_mappings: false,
  networks: true,
  privileged_mounts: true,
  memory_limit: true,
  cpu_limit: true,
});

/** The container of a compose file that takes requests, else its first. `undefined`: the release is an image. */
const mainName = ({ services: [first], state }: SeenRelease): string | undefined =>
  first?.member === undefined ? undefined : mainContainer(state.containers ?? [])?.name;

const noCompose = (server: string) =>
  new DomainError("engine.unsupported", `Server ${server} runs no compose files. Use a server with Docker.`);

const notRunning = () =>
  new DomainError("resource.not_running", "No container of it runs in the cluster. Start it, then try again.");

const unknownContainer = (name: string, all: readonly ReleaseContainer[]) =>
  new DomainError(
    "resource.not_found",
    `It has no container ${name}, but ${[...new Set(all.map(containerTitle))].join(", ")}.`,
  );

/** Why its container waits for a node, for who wants something of the container. */
function unplaced(cause: unknown): never {
  throw isDomainError(cause) ? new DomainError("resource.not_running", cause.message, { cause }) : cause;
}
