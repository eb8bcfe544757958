import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { LABELS } from "@berth/docker-client";
import type Docker from "dockerode";
import type { CreateServiceOptions } from "dockerode";
import { createOptions, imageOf } from "../docker/container.ts";
import { explain, requireWanted, startFailed } from "../docker/start.ts";
import { answered } from "./answered.ts";
import { type ImageNodes, imageWithFiles, onlyOn, spreadImage } from "./images.ts";
import { ensureOverlay, hidesNetworks } from "./network.ts";
import { type ClusterNode, clusterNodes, labelNode, type OwnNode, type SwarmNode } from "./nodes.ts";
import { pinStorages, readyLabel } from "./placement.ts";
import { NO_NODE } from "./placement-problem.ts";
import type { SeenRelease } from "./seen-release.ts";
import { serviceSpec, withConditions } from "./service-spec.ts";
import { type FoundService, resumed, type Services, type Task } from "./services.ts";
import type { ClusterWatch } from "./watch.ts";

export interface StartPlace {
  /** Client of a manager. */
  readonly docker: Docker;
  readonly instance: string;
  /** The network of releases that name none. */
  readonly network: string;
  readonly services: Services;
  readonly watch: ClusterWatch;
  /** Does this while nobody else changes which nodes get tasks. */
  readonly whileNodesStay: WhileNodesStay;
  /** How long a node is waited for that may have the image. */
  readonly returnSeconds: number;
  /** Removes a service with its containers. */
  remove(seen: SeenRelease): Promise<void>;
}

/**
 * Starts a release: its service, if it was made from the same spec, else a new one. Resolves when all tasks have a
 * container.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function startService(place: StartPlace, spec: ReleaseSpec, io: WorkIO): Promise<void> {
  const { instance, services, watch } = place;
  const network = spec.network ?? place.network;
  const { Labels: labels } = createOptions(spec, { instance, network, image: imageOf(spec) });
  const seen = await watch.find(spec);
  const service = seen?.services[0];
  // A start never replaces running containers, whose environment belongs to their deployment.
  if (service !== undefined && (!service.isStopped || service.fingerprint === labels?.[LABELS.spec])) {
    await services.update(service, resumed);
    return await untilStarted(place, spec, io.signal);
  }
  if (seen !== undefined) await place.remove(seen);
  requireWanted(io.signal);
  const { definition, eligible } = await prepare(place, spec, network, io);
  requireWanted(io.signal);
  try {
    await eligible.create(definition);
    await untilStarted(place, spec, io.signal);
  } catch (cause) {
    const failure = startFailed(cause, "service");
    // What never ran has no logs or data to look at. If the connection broke it may run, and the next attempt finds it.
    if (failure !== cause || cause instanceof DomainError) await discard(place, spec);
    throw failure;
  }
}

/** Makes all that the tasks need on their nodes. */
async function prepare(place: StartPlace, spec: ReleaseSpec, network: string, io: WorkIO) {
  const { docker, instance } = place;
  const eligible = await eligibleNodes(place, io, [network]);
  const { nodes } = eligible;
  const { resourceUuid, deploymentUuid, storages } = spec;
  const files = storages.filter((mount) => mount.type === "file");
  await ensureOverlay(docker, network, instance);
  const chosen = constraintsOf(spec, nodes);
  const owner = { resourceUuid, deploymentUuid };
  const { constraints: pins, holder } = await pinStorages(
    { docker, nodes, adapters: () => place.watch.allNodes(), owner: { instance, ...owner } },
    spec,
    chosen,
  );
  const targets = holder === undefined ? eligible : onlyOn(eligible, holder);
  const source = holder ?? eligible.source;
  await spreadImage(targets, imageOf(spec), io);
  const user = spec.container?.run.user ?? null;
  const image =
    files.length === 0
      ? imageOf(spec)
      : await imageWithFiles(source.docker, imageOf(spec), { instance, ref: owner, files, user });
  if (files.length > 0) await spreadImage(targets, image, io);
  const imageId = (await source.images.find(image))?.id ?? image;
  const definition = serviceSpec(spec, { instance, network, imageId, run: 1, constraints: [...chosen, ...pins] });
  return { definition, eligible };
}

/** The nodes that a release can start on. */
export interface EligibleNodes extends ImageNodes {
  readonly nodes: readonly OwnNode[];
  /** One of them. */
  readonly source: SwarmNode;
  /**
   * Makes a service whose tasks start on these alone, which must have its image. Others may have come back meanwhile.
   * @throws DomainError `deploy.start_failed`
   */
  create(definition: CreateServiceOptions): Promise<void>;
}

export type WhileNodesStay = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * @param networks Names of those that its tasks join.
 * @throws DomainError `deploy.start_failed` if no node answers
 */
export async function eligibleNodes(
  { docker, instance, services, watch, whileNodesStay, returnSeconds }: StartPlace,
  { signal, onLine }: WorkIO,
  networks: readonly string[],
): Promise<EligibleNodes> {
  await watch.awaitedNodes.settled({ signal, onLine });
  requireWanted(signal);
  await watch.readyNodes(true);
  const answering = await watch.answeringNodes();
  const hidden = await Promise.all(
    answering.map(({ node }) => answered(hidesNetworks(node.docker, networks, instance))),
  );
  const nodes = answering.filter((_node, at) => hidden[at] === undefined);
  const adapters = nodes.map(({ node }) => node);
  const others = (await watch.allNodes()).filter(({ id }) => answering.every((one) => one.id !== id));
  const [source] = adapters;
  const hiding: string[] = [];
  for (const [at, { id, node }] of answering.entries()) {
    const name = hidden[at];
    if (name === undefined) continue;
    hiding.push(id);
    onLine(
      `Leaves out ${node.name}, which has a network ${name} of its own in use. Delete what runs on the server itself, or use another destination`,
      "stdout",
    );
  }
  if (source === undefined) throw new DomainError("deploy.start_failed", NO_NODE);
  const leftOut = new Set(hiding);
  /** @returns Conditions for tasks. */
  async function conditions(): Promise<readonly string[]> {
    const label = readyLabel(instance);
    for (const { id } of adapters) await labelNode(docker, id, { [label]: "yes" });
    const isPrepared = ({ id }: ClusterNode) => adapters.some((node) => node.id === id);
    const unprepared = (await clusterNodes(docker)).filter((node) => !isPrepared(node) && node.labels[label]);
    // A lost one gets its label again when it is back and has the images.
    for (const { id, isReady } of unprepared) if (!isReady) await labelNode(docker, id, { [label]: undefined });
    // The label of the others stays: without it, the swarm would end what runs there.
    const ready = unprepared.filter(({ isReady }) => isReady);
    for (const { id, hostname } of ready) {
      if (leftOut.has(id)) continue;
      leftOut.add(id);
      onLine(`Leaves out ${others.find((node) => node.id === id)?.name ?? hostname}, which does not answer`, "stdout");
    }
    const absent = new Set([...ready.map(({ id }) => id), ...hiding]);
    return [`node.labels.${label}==yes`, ...[...absent].map((id) => `node.id!=${id}`)];
  }
  return {
    ...{ nodes, adapters, others, source, otherSecondsMax: returnSeconds },
    create: (definition) => whileNodesStay(async () => services.create(withConditions(definition, await conditions()))),
  };
}

/** Conditions that its resource has for nodes. */
export function constraintsOf(
  { placement }: Pick<ReleaseSpec, "placement">,
  nodes: readonly ClusterNode[],
): readonly string[] {
  if (placement === undefined) return [];
  const hasWorkers = nodes.some(({ isManager }) => !isManager);
  return placement.isOnlyOnWorkers && hasWorkers
    ? [...placement.constraints, "node.role==worker"]
    : placement.constraints;
}

/**
 * Waits until each task has a container that was started.
 * @param isMeant Which containers of a compose file. Default: all.
 * @throws DomainError `deploy.start_failed`
 */
export async function untilStarted(
  place: StartPlace,
  spec: ReleaseRef,
  signal: AbortSignal,
  isMeant: (name: string) => boolean = () => true,
): Promise<void> {
  const { services, watch } = place;
  for (;;) {
    requireWanted(signal);
    // Registered before the look, so that no change between the two is missed.
    const changed = watch.changed(spec, signal);
    const seen = await watch.find(spec);
    if (seen === undefined) throw new DomainError("deploy.start_failed", "Its service was removed from the cluster.");
    const { containers } = seen.state;
    const states = containers?.flatMap(({ name, state }) => (isMeant(name) ? state : [])) ?? [seen.state.state];
    if (!states.some((state) => WAITING.has(state))) return;
    await requireNodes(place, seen);
    for (const service of seen.services) {
      const problem = problemOf(await services.tasks(service));
      if (problem !== undefined && !(await watch.awaitedNodes.isSettling())) throw failed(service, problem);
    }
    await changed;
  }
}

/**
 * @throws DomainError `deploy.start_failed` if containers wait for a node and none fits, or the one with their data is
 *   lost
 */
export async function requireNodes(
  { services, watch }: Pick<StartPlace, "services" | "watch">,
  seen: SeenRelease,
): Promise<void> {
  const states = seen.state.containers?.map(({ state }) => state) ?? [seen.state.state];
  // What ran on a node that is drained now is to be started again, and waits for a node too.
  if (!states.some((state) => WAITING.has(state) || state === "restarting")) return;
  for (const service of seen.services) {
    const problem = unplacedOf(await services.tasks(service));
    if (service.isStopped || problem === undefined || (await watch.awaitedNodes.isSettling())) continue;
    const lost = watch.lostDataOf(service);
    throw lost === undefined ? failed(service, problem) : new DomainError("deploy.start_failed", lost);
  }
}

const failed = ({ member }: FoundService, problem: string): DomainError =>
  new DomainError("deploy.start_failed", member === undefined ? problem : `${member.name}: ${problem}`);

/** Why tasks will not start; `undefined`: they may. */
export function problemOf(tasks: readonly Task[]): string | undefined {
  const rejected = tasks.find(({ Status }) => Status.State === "rejected");
  if (rejected !== undefined) {
    return `The container could not be started: ${explain(new Error(rejected.Status.Err ?? "the node rejected it"))}`;
  }
  return unplacedOf(tasks);
}

/** Why tasks find no node; `undefined`: they do. */
function unplacedOf(tasks: readonly Task[]): string | undefined {
  const waiting = tasks.find(({ Status }) => Status.State === "pending" && /no suitable node/.test(Status.Err ?? ""));
  if (waiting === undefined) return undefined;
  const reason = waiting.Status.Err ?? "";
  return `No node of the cluster fits: ${reason}. Check its placement constraints, limits and ports, and that the nodes are ready and active.`;
}

export async function discard(place: StartPlace, spec: ReleaseRef): Promise<void> {
  const seen = await place.watch.find(spec).catch(() => undefined);
  if (seen !== undefined) await place.remove(seen).catch(() => undefined);
}

const WAITING: ReadonlySet<string> = new Set(["created", "starting"]);
