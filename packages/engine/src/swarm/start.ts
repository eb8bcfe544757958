import { DomainError } from "@berth/core";
import type { ReleaseSpec } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { LABELS } from "@berth/docker-client";
import type Docker from "dockerode";
import { createOptions, imageOf } from "../docker/container.ts";
import { explain, requireWanted, startFailed } from "../docker/start.ts";
import { imageWithFiles, spreadImage } from "./images.ts";
import { ensureOverlay } from "./network.ts";
import { type ClusterNode, labelNode } from "./nodes.ts";
import { NO_NODE, pinStorages, readyLabel } from "./placement.ts";
import { serviceSpec } from "./service-spec.ts";
import { resumed, type Services, type Task } from "./services.ts";
import type { ClusterWatch, SeenRelease } from "./watch.ts";

export interface StartPlace {
  /** Client of a manager. */
  readonly docker: Docker;
  readonly instance: string;
  /** The network of releases that name none. */
  readonly network: string;
  readonly services: Services;
  readonly watch: ClusterWatch;
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
  // A start never replaces running containers, whose environment belongs to their deployment.
  if (seen !== undefined && (!seen.service.isStopped || seen.service.fingerprint === labels?.[LABELS.spec])) {
    await services.update(spec, resumed);
    return await untilStarted(place, spec, io.signal);
  }
  if (seen !== undefined) await place.remove(seen);
  requireWanted(io.signal);
  const definition = await prepare(place, spec, network, io);
  requireWanted(io.signal);
  try {
    await services.create(definition);
    await untilStarted(place, spec, io.signal);
  } catch (cause) {
    const failure = startFailed(cause, "service");
    // What never ran has no logs or data to look at. If the connection broke it may run, and the next attempt finds it.
    if (failure !== cause || cause instanceof DomainError) await discard(place, spec);
    throw failure;
  }
}

/** Makes all that the tasks need on their nodes. */
async function prepare({ docker, instance, watch }: StartPlace, spec: ReleaseSpec, network: string, io: WorkIO) {
  await watch.settled();
  const ready = await watch.readyNodes(true);
  const nodes = await watch.answeringNodes();
  const adapters = nodes.map(({ node }) => node);
  const { resourceUuid, deploymentUuid, storages } = spec;
  const files = storages.filter((mount) => mount.type === "file");
  await ensureOverlay(docker, network, instance);
  const chosen = constraintsOf(spec, nodes);
  const owner = { resourceUuid, deploymentUuid };
  const pins = await pinStorages({ docker, nodes, owner: { instance, ...owner } }, spec, chosen);
  const source = adapters[0];
  if (source === undefined) throw new DomainError("deploy.start_failed", NO_NODE);
  await spreadImage(adapters, imageOf(spec), io);
  const user = spec.container?.run.user ?? null;
  const image =
    files.length === 0
      ? imageOf(spec)
      : await imageWithFiles(source.docker, imageOf(spec), { instance, ref: owner, files, user });
  if (files.length > 0) await spreadImage(adapters, image, io);
  const label = readyLabel(instance);
  for (const { id } of adapters) await labelNode(docker, id, { [label]: "yes" });
  // Their ready label stays: without it, the swarm would end what runs there.
  const unreached = ready.filter(({ id }) => nodes.every((node) => node.id !== id));
  for (const { node } of unreached) io.onLine(`Leaves out ${node.name}, which does not answer`, "stdout");
  const imageId = (await source.images.find(image))?.id ?? image;
  return serviceSpec(spec, {
    instance,
    network,
    imageId,
    run: 1,
    constraints: [`node.labels.${label}==yes`, ...unreached.map(({ id }) => `node.id!=${id}`), ...chosen, ...pins],
  });
}

/** Conditions that its resource has for nodes. */
function constraintsOf({ placement }: ReleaseSpec, nodes: readonly ClusterNode[]): readonly string[] {
  if (placement === undefined) return [];
  const hasWorkers = nodes.some(({ isManager }) => !isManager);
  return placement.isOnlyOnWorkers && hasWorkers
    ? [...placement.constraints, "node.role==worker"]
    : placement.constraints;
}

/** Waits until each task has a container that was started. @throws DomainError `deploy.start_failed` */
async function untilStarted({ services, watch }: StartPlace, spec: ReleaseSpec, signal: AbortSignal): Promise<void> {
  for (;;) {
    requireWanted(signal);
    // Registered before the look, so that no change between the two is missed.
    const changed = watch.changed(spec, signal);
    const seen = await watch.find(spec);
    if (seen === undefined) throw new DomainError("deploy.start_failed", "Its service was removed from the cluster.");
    const states = seen.state.containers?.map(({ state }) => state) ?? [seen.state.state];
    if (!states.some((state) => WAITING.has(state))) return;
    const problem = problemOf(await services.tasks(seen.service));
    if (problem !== undefined && !(await watch.isSettling())) throw new DomainError("deploy.start_failed", problem);
    await changed;
  }
}

/** Why tasks will not start; `undefined`: they may. */
export function problemOf(tasks: readonly Task[]): string | undefined {
  const rejected = tasks.find(({ Status }) => Status.State === "rejected");
  if (rejected !== undefined) {
    return `The container could not be started: ${explain(new Error(rejected.Status.Err ?? "the node rejected it"))}`;
  }
  const waiting = tasks.find(({ Status }) => Status.State === "pending" && /no suitable node/.test(Status.Err ?? ""));
  if (waiting === undefined) return undefined;
  const reason = waiting.Status.Err ?? "";
  return `No node of the cluster fits: ${reason}. Check its placement constraints, limits and ports, and that the nodes are ready and active.`;
}

async function discard(place: StartPlace, spec: ReleaseSpec): Promise<void> {
  const seen = await place.watch.find(spec).catch(() => undefined);
  if (seen !== undefined) await place.remove(seen).catch(() => undefined);
}

const WAITING: ReadonlySet<string> = new Set(["created", "starting"]);
