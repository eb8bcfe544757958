import { createHash } from "node:crypto";
import { DomainError } from "@berth/core";
import { type Compose, isExternal, parseWrittenCompose, recordOf } from "@berth/core/compose";
import { clusterConstraints, clusterProblems } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { LABELS } from "@berth/docker-client";
import type { ContainerInspectInfo, CreateServiceOptions } from "dockerode";
import { planStack, type StackPlan, withNetworks } from "../docker/compose/document.ts";
import { planKeeping } from "../docker/compose/keep.ts";
import { awaitNeeds } from "../docker/compose/needs.ts";
import { renamedNetworks } from "../docker/compose/networks.ts";
import { startGroups } from "../docker/compose/order.ts";
import { type StackSpec, scopeOf } from "../docker/compose/spec.ts";
import { makeNetwork } from "../docker/compose/start.ts";
import type { ComposeTool } from "../docker/compose/tool.ts";
import { requireWanted, startFailed } from "../docker/start.ts";
import { volumeName } from "../docker/volumes.ts";
import { type ImageNodes, imageWithFiles, onlyOn, spreadImage } from "./images.ts";
import { ensureOverlay } from "./network.ts";
import { pinStorages } from "./placement.ts";
import { currentContainers, type TaskContainer } from "./seen-release.ts";
import type { ServiceTasks } from "./service-spec.ts";
import { resumed } from "./services.ts";
import { draftStack } from "./stack-draft.ts";
import { memberSpec } from "./stack-spec.ts";
import { constraintsOf, discard, eligibleNodes, requireNodes, type StartPlace, untilStarted } from "./start.ts";

export interface ClusterStackPlace extends StartPlace {
  readonly tool: ComposeTool;
  /** Stops some of a release's containers, and those of its services. */
  stop(containers: readonly TaskContainer[]): Promise<void>;
}

/**
 * Starts a release of several containers: each is a service. Those that exist are resumed, others are made in the
 * order that the compose file asks for. What a cluster cannot run is refused before anything is made.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function startClusterStack(place: ClusterStackPlace, spec: StackSpec, io: WorkIO): Promise<void> {
  const { services, watch, instance } = place;
  const { compose, plan: planned } = fittingPlan(spec, instance);
  const found = (await watch.find(spec))?.services ?? [];
  const existing = new Set(found.flatMap(({ member }) => member?.name ?? []));
  const wanted = startGroups(planned.document.services, new Set(), isAwaited).flatMap(({ names }) => names);
  const missing = wanted.filter((name) => !existing.has(name) && replicasOf(planned, name) > 0);
  for (const service of found) await services.update(service, resumed);
  if (missing.length === 0) return await untilStarted(place, spec, io.signal);
  requireWanted(io.signal);
  const { plan, definitions, eligible } = await prepare(place, spec, planned, io);
  requireWanted(io.signal);
  await stopPredecessor(place, spec, { plan, compose }, io);
  try {
    for (const { names, needs } of startGroups(plan.document.services, existing, isAwaited)) {
      await awaitNeeds(
        {
          dockerOf: ({ node }: TaskContainer) => node.docker,
          containers: async () => {
            const seen = await watch.find(spec);
            // One whose node was lost may never be made again.
            if (seen !== undefined) await requireNodes(place, seen);
            return currentContainers(seen);
          },
          replicasOf: (name) => replicasOf(plan, name),
          // Its names lead nowhere before the swarm's own check has passed.
          hasOwnChecks: false,
        },
        needs.filter(({ name }) => replicasOf(plan, name) > 0),
        io,
      );
      const making = names.filter((name) => missing.includes(name));
      for (const name of making) {
        const definition = definitions.get(name);
        if (definition !== undefined) await eligible.create(definition);
      }
      await untilStarted(place, spec, io.signal, (name) => making.includes(name));
    }
  } catch (cause) {
    const failure = startFailed(cause, "service");
    // As for an image: what broke off may be continued by the next attempt.
    if (failure !== cause || cause instanceof DomainError) await discard(place, spec);
    throw failure;
  }
}

/** A container waits for all that it depends on: the compose tool, which would do that, starts nothing here. */
const isAwaited = (): boolean => true;

const replicasOf = ({ document }: StackPlan, name: string): number => Number(document.services[name]?.scale ?? 1);

/** @throws DomainError `deploy.start_failed` with all that the cluster cannot run */
export function fittingPlan(
  spec: StackSpec,
  instance: string,
): { readonly plan: StackPlan; readonly compose: Compose } {
  const compose = parseWrittenCompose(spec.artifact.compose);
  if ("problems" in compose) {
    throw new DomainError("deploy.start_failed", `The compose file cannot be used: ${compose.problems.join(" ")}`);
  }
  const plan = planStack(spec, acrossNodes(compose, spec.stack.variables), instance);
  const { stack, artifact } = spec;
  const { containers, scale } = stack;
  const problems = clusterProblems({ document: plan.source, containers, scale, files: artifact.files });
  if (problems.length > 0) {
    throw new DomainError("deploy.start_failed", `The compose file cannot run on a cluster: ${problems.join(" ")}`);
  }
  return { plan: withNetworks(plan, overlayNames(plan)), compose };
}

/** Its networks span the nodes, unless it names another kind, which is refused. */
function acrossNodes(compose: Compose, variables: Readonly<Record<string, string>>): Compose {
  const { document } = compose;
  const networks = Object.entries(document.networks ?? {}).map(([key, network]) => {
    const isUsual = !isExternal(network, variables) && (network?.driver == null || network.driver === "bridge");
    return [key, isUsual ? { ...network, driver: "overlay" } : network] as const;
  });
  return { ...compose, document: { ...document, networks: Object.fromEntries(networks) } };
}

const overlayNames = ({ networks }: StackPlan): ReadonlyMap<string, string> =>
  new Map(networks.map(({ name }) => [name, overlayName(name)]));

/**
 * Swarm takes only names that are parts of a host name. Never a plain name, which a network of a single server may
 * have from the time before it was used as a cluster.
 */
export function overlayName(name: string): string {
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replace(/[^A-Za-z0-9]+/g, "-").slice(0, OVERLAY_LENGTH_MAX)}-${mark}`;
}

/** With its mark, and that of a changed definition, it has at most 63 characters. */
const OVERLAY_LENGTH_MAX = 40;

/** Makes all that the tasks need on their nodes. */
async function prepare(place: ClusterStackPlace, spec: StackSpec, planned: StackPlan, io: WorkIO) {
  const { docker, instance } = place;
  const { resourceUuid, deploymentUuid } = spec;
  const eligible = await eligibleNodes(place, io, spec.stack.networks);
  // Proxies, which are no tasks, join them.
  const overlays = planned.networks.map((one) => ({ ...one, driver: "overlay", isAttachable: true }));
  const renamed = await renamedNetworks(docker, overlays, "-");
  for (const line of renamed.lines) io.onLine(line, "stdout");
  const plan = withNetworks({ ...planned, networks: overlays }, renamed.names);
  for (const network of plan.networks) await makeNetwork({ docker, instance }, spec, network);
  for (const name of spec.stack.networks) await ensureOverlay(docker, name, instance);
  const drafts = await draftStack({ docker, instance, tool: place.tool }, spec, plan.document, io);
  const chosenOf = (name: string) => [
    ...constraintsOf(spec, eligible.nodes),
    ...clusterConstraints(plan.source.services[name] ?? {}),
  ];
  const holders = Object.keys(plan.document.services).filter((name) => hasVolume(plan, name));
  const owner = { instance, resourceUuid, deploymentUuid };
  // One node has all volumes of a compose file, since containers share them.
  const { constraints: pins, holder } = await pinStorages(
    { docker, nodes: eligible.nodes, adapters: () => place.watch.allNodes(), owner },
    { storages: plan.volumes },
    holders.flatMap(chosenOf),
  );
  const images = new Map<string, string>();
  for (const [name, draft] of drafts) {
    const nodes = holder !== undefined && hasVolume(plan, name) ? onlyOn(eligible, holder) : eligible;
    images.set(name, await imageOf(place, spec, { name, draft, plan, nodes }, io));
  }
  const definitions = new Map<string, CreateServiceOptions>();
  for (const [name, draft] of drafts) {
    const service = plan.document.services[name] ?? {};
    const constraints = [...chosenOf(name), ...(hasVolume(plan, name) ? pins : [])];
    const networks = networksOf(spec, plan, name);
    const scope = overlayName(scopeOf(spec));
    const imageId = images.get(name) ?? draft.Image;
    definitions.set(
      name,
      memberSpec(spec, draft, service, { instance, imageId, run: 1, constraints, networks, scope }),
    );
  }
  return { plan, definitions, eligible };
}

/** Whether a container has a volume of the resource. */
function hasVolume({ document, volumes }: StackPlan, name: string): boolean {
  const mounts = [document.services[name]?.volumes ?? []].flat().map((mount) => recordOf(mount).source);
  return volumes.some(({ uuid }) => mounts.includes(volumeName(uuid)));
}

/** Loads the image of a container, with its files, on these nodes. @returns Its id. */
async function imageOf(
  { docker, instance }: ClusterStackPlace,
  spec: StackSpec,
  {
    name,
    draft,
    plan,
    nodes,
  }: {
    readonly name: string;
    readonly draft: ContainerInspectInfo;
    readonly plan: StackPlan;
    readonly nodes: ImageNodes;
  },
  io: WorkIO,
): Promise<string> {
  const { entries = [], mounts = [], source: files = null } = plan.files.get(name) ?? {};
  const plain = draft.Config.Image;
  const hasFiles = entries.length + mounts.length > 0 || files !== null;
  if (hasFiles) requireOutside(name, [...entries, ...mounts], Object.keys(draft.Config.Volumes ?? {}));
  const order = Object.keys(plan.document.services).indexOf(name);
  const image = hasFiles
    ? await imageWithFiles(docker, plain, {
        ...{ instance, ref: spec, files: mounts, user: draft.Config.User },
        member: { name, order, entries, source: files },
      })
    : plain;
  await spreadImage(nodes, image, io);
  return (await nodes.adapters[0]?.images.find(image))?.id ?? image;
}

/** What lies in a volume of the image cannot become a part of an image. @throws DomainError `deploy.start_failed` */
function requireOutside(
  name: string,
  files: readonly { readonly mountPath: string }[],
  volumes: readonly string[],
): void {
  const inside = files.find(({ mountPath }) => volumes.some((volume) => mountPath.startsWith(`${volume}/`)));
  if (inside === undefined) return;
  const message = `The compose file cannot run on a cluster: services.${name}: The file ${inside.mountPath} is inside a volume of its image, which would hide it. Mount it elsewhere.`;
  throw new DomainError("deploy.start_failed", message);
}

/** The network of all containers first: its address takes the requests. */
function networksOf({ stack }: StackSpec, plan: StackPlan, name: string): ServiceTasks["networks"] {
  const joined = Object.entries(recordOf(plan.document.services[name]?.networks)).map(([key, options]) => {
    const { aliases } = recordOf(options);
    return {
      name: plan.document.networks[key]?.name ?? key,
      aliases: [...new Set([name, ...(Array.isArray(aliases) ? aliases.map(String) : [])])],
    };
  });
  const shared = plan.shared.get(name);
  return [
    ...joined,
    ...(shared === undefined ? [] : stack.networks.map((network) => ({ name: network, aliases: [...shared] }))),
  ];
}

/** Stops those containers of the previous release that cannot run beside the new ones. */
async function stopPredecessor(
  place: ClusterStackPlace,
  spec: StackSpec,
  { plan, compose }: { readonly plan: StackPlan; readonly compose: Compose },
  io: WorkIO,
): Promise<void> {
  const { replaces } = spec.stack;
  const { resourceUuid } = spec;
  const old = replaces && (await place.watch.find({ resourceUuid, deploymentUuid: replaces.deploymentUuid }));
  if (replaces === undefined || old === undefined) return;
  const { source, document } = plan;
  // Containers of a cluster cannot change their names, by which a kept one would belong to the new release.
  const { stopping, lines } = planKeeping(
    { spec, compose, source, document },
    { ...replaces, keeps: "none" },
    currentContainers(old),
    LABELS.spec,
  );
  for (const line of lines) io.onLine(line, "stdout");
  const names = new Set(stopping.map(({ container }) => container.name));
  await place.stop(old.containers.filter(({ container }) => names.has(container.name)));
}
