import { DomainError } from "@berth/core";
import { type Compose, parseWrittenCompose, recordOf } from "@berth/core/compose";
import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import { LABELS, type Labels, labelFilter, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import { putEntries, putFiles } from "../files.ts";
import { ensureNetwork, type NetworkMore, ownNetworks, removeNetwork, removeNetworks } from "../networks.ts";
import { explain, requireWanted } from "../start.ts";
import { UP } from "../state.ts";
import { ensureVolumes } from "../volumes.ts";
import type { Seen, SeenContainer } from "../watch.ts";
import { planStack, type StackDocument, type StackPlan, withNetworks } from "./document.ts";
import { planKeeping } from "./keep.ts";
import { rename } from "./member.ts";
import { awaitNeeds } from "./needs.ts";
import { networkMark, renamedNetworks, type WantedNetwork } from "./networks.ts";
import { DEPENDS_ON, dependenciesOf, startGroups, stopOrder } from "./order.ts";
import { putSourceFiles } from "./source-image.ts";
import { projectName, type StackSpec, scopeOf } from "./spec.ts";
import type { ComposeTool } from "./tool.ts";

export interface StackPlace {
  readonly docker: Docker;
  /** Name of the server, for messages. */
  readonly server: string;
  readonly instance: string;
  readonly tool: ComposeTool;
  /** For networks that several resources share, when they are created. */
  readonly networkOptions?: NetworkMore | undefined;
  /** Existing containers of this release, or of another one of the resource. */
  seen(deploymentUuid?: string): Promise<Seen | undefined>;
  stop(containers: readonly SeenContainer[]): Promise<void>;
}

export const isStack = (spec: ReleaseSpec): spec is StackSpec =>
  spec.artifact.type === "stack" && spec.stack !== undefined;

/**
 * Starts a release of several containers: existing ones are started, missing or outdated ones created. Running
 * containers are never replaced.
 * @throws DomainError `deploy.start_failed`, `deploy.cancelled`
 */
export async function startStack(place: StackPlace, spec: StackSpec, io: WorkIO): Promise<void> {
  const { docker, instance, server, tool } = place;
  const compose = parseWrittenCompose(spec.artifact.compose);
  if ("problems" in compose) {
    throw new DomainError("deploy.start_failed", `The compose file cannot be used: ${compose.problems.join(" ")}`);
  }
  const planned = planStack(spec, compose, instance);
  const renamed = await renamedNetworks(docker, planned.networks);
  const plan = withNetworks(planned, renamed.names);
  const before = (await place.seen())?.containers ?? [];
  for (const { id, info } of before) if (info.State.Paused) await docker.getContainer(id).unpause();
  if (isWhole(plan, before)) return;
  requireWanted(io.signal);
  for (const line of renamed.lines) io.onLine(line, "stdout");
  await succeed(place, spec, { plan, compose }, io);
  const inherited = ((await place.seen())?.containers ?? []).filter((one) => !isOfProject(one, spec));
  for (const one of inherited) if (!UP.has(one.info.State.Status)) await docker.getContainer(one.id).start();
  const existing = new Set(inherited.map(({ container }) => container.name));
  const document = without(plan.document, existing);
  if (Object.keys(document.services).length === 0) return;
  for (const network of plan.networks) await makeNetwork(place, spec, network);
  if (plan.shared.size > 0)
    for (const name of spec.stack.networks) await ensureNetwork(docker, name, instance, place.networkOptions);
  const { resourceUuid, deploymentUuid } = spec;
  await ensureVolumes(docker, plan.volumes, { server, instance, resourceUuid, deploymentUuid });
  const keepsExisting = before.some(({ info }) => UP.has(info.State.Status));
  requireWanted(io.signal);
  const groups = startGroups(plan.document.services, existing);
  const isInGroups = groups.length > 1;
  if (hasFiles(plan) || plan.shared.size > 0 || isInGroups) {
    await tool.up(spec.deploymentUuid, document, { isCreateOnly: true, keepsExisting }, io);
    await joinShared(place, spec, plan);
    await fill(place, plan);
  }
  for (const { names, needs } of groups) {
    const containers = async () => (await place.seen())?.containers ?? [];
    await awaitNeeds({ dockerOf: () => docker, containers }, needs, io);
    const ofGroup = isInGroups ? { keepsExisting: true, names } : { keepsExisting };
    await tool.up(spec.deploymentUuid, document, { isCreateOnly: false, ...ofGroup }, io);
  }
}

/** Takes over unchanged containers of the previous release, and stops those that cannot run beside the new ones. */
async function succeed(
  place: StackPlace,
  spec: StackSpec,
  { plan, compose }: { readonly plan: StackPlan; readonly compose: Compose },
  io: WorkIO,
): Promise<void> {
  const { replaces } = spec.stack;
  const old = replaces && (await place.seen(replaces.deploymentUuid));
  if (replaces === undefined || old === undefined) return;
  // Containers that belong to this release already were taken over by an earlier attempt.
  const others = old.containers.filter(({ owners }) => !owners.includes(spec.deploymentUuid));
  const { source, document } = plan;
  const { kept, stopping, lines } = planKeeping({ spec, compose, source, document }, replaces, others, LABELS.spec);
  for (const line of lines) io.onLine(line, "stdout");
  for (const { id, info, owners } of kept) {
    const container = place.docker.getContainer(id);
    await rename(container, info.Name, spec, [...owners, spec.deploymentUuid]);
  }
  await place.stop(stopping);
}

const isOfProject = ({ info }: SeenContainer, { deploymentUuid }: StackSpec): boolean =>
  info.Config.Labels["com.docker.compose.project"] === projectName(deploymentUuid);

/** Removes existing containers from the document, so that the tool neither creates nor awaits them. */
function without(document: StackDocument, names: ReadonlySet<string>): StackDocument {
  const services = Object.entries(document.services).flatMap(([name, { depends_on, ...service }]) => {
    if (names.has(name)) return [];
    const needed = Array.isArray(depends_on)
      ? depends_on.filter((other) => !names.has(String(other)))
      : Object.fromEntries(Object.entries(recordOf(depends_on)).filter(([other]) => !names.has(other)));
    return [[name, depends_on == null ? service : { ...service, depends_on: needed }] as const];
  });
  return { ...document, services: Object.fromEntries(services) };
}

/** Whether nothing is left to start: all containers run, or have finished. */
function isWhole({ document }: StackPlan, seen: readonly SeenContainer[]): boolean {
  const wanted = Object.entries(document.services).flatMap(([name, { profiles, scale = 1 }]) =>
    Array.isArray(profiles) ? [] : [[name, Number(scale)] as const],
  );
  const isDone = ({ info }: SeenContainer) =>
    UP.has(info.State.Status) || (info.State.Status === "exited" && info.State.ExitCode === 0 && isOnce(info));
  const isUp = seen.some(({ info }) => UP.has(info.State.Status));
  const doneOf = (name: string) => seen.filter((one) => one.container.name === name && isDone(one)).length;
  return isUp && wanted.every(([name, count]) => doneOf(name) >= count);
}

const isOnce = ({ HostConfig }: SeenContainer["info"]): boolean =>
  HostConfig.RestartPolicy?.Name === "no" || HostConfig.RestartPolicy?.Name === "on-failure";

const hasFiles = ({ files }: StackPlan): boolean =>
  [...files.values()].some(({ entries, mounts, source }) => entries.length + mounts.length > 0 || source !== null);

/** Joins containers to the server's networks before they start. Idempotent. */
async function joinShared(place: StackPlace, { stack }: StackSpec, { shared }: StackPlan): Promise<void> {
  for (const { id, info, container } of (await place.seen())?.containers ?? []) {
    const names = shared.get(container.name);
    if (names === undefined) continue;
    for (const network of stack.networks) {
      if (network in info.NetworkSettings.Networks) continue;
      const options = { Container: id, EndpointConfig: { Aliases: [...names] } };
      await place.docker.getNetwork(network).connect(options).catch(refusedToJoin(container.name, network));
    }
  }
}

function refusedToJoin(container: string, network: string) {
  return (cause: unknown): never => {
    if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
    const sentence = `The container ${container} could not join the network ${network}: ${explain(cause)}`;
    throw new DomainError("deploy.start_failed", sentence, { cause });
  };
}

/** Copies files into the containers before every start, since their content may have changed. */
async function fill(place: StackPlace, { files }: StackPlan): Promise<void> {
  const targets = new Map<string, { id: string; name: string }[]>();
  for (const { id, info, container } of (await place.seen())?.containers ?? []) {
    if (UP.has(info.State.Status)) continue;
    const { entries = [], mounts = [], source = null } = files.get(container.name) ?? {};
    if (source !== null) targets.set(source, [...(targets.get(source) ?? []), { id, name: container.name }]);
    const target = place.docker.getContainer(id);
    try {
      await putFiles(target, mounts, info.Config.User);
      await putEntries(target, entries);
    } catch (cause) {
      if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
      const sentence = `The files of the container ${container.name} could not be put into it: ${explain(cause)}`;
      throw new DomainError("deploy.start_failed", sentence, { cause });
    }
  }
  for (const [image, ofImage] of targets) await putSourceFiles(place, image, ofImage);
}

/** @throws DomainError `deploy.start_failed` */
export async function makeNetwork(
  { docker, instance }: Pick<StackPlace, "docker" | "instance">,
  spec: StackSpec,
  wanted: WantedNetwork,
): Promise<void> {
  await ensureNetwork(docker, wanted.name, instance, {
    Driver: wanted.driver,
    Internal: wanted.isInternal,
    EnableIPv6: wanted.isIpv6,
    ...(wanted.isIpv4 ? {} : { EnableIPv4: false }),
    Attachable: wanted.isAttachable,
    Options: { ...wanted.driverOptions },
    ...(wanted.ipam === undefined ? {} : { IPAM: wanted.ipam }),
    Labels: {
      ...wanted.labels,
      [LABELS.resource]: spec.resourceUuid,
      [LABELS.deployment]: spec.deploymentUuid,
      [LABELS.scope]: scopeOf(spec),
      [LABELS.name]: spec.name,
      [LABELS.spec]: networkMark(wanted),
    },
  }).catch((cause: unknown) => {
    if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
    const advice = /pool overlaps/i.test(cause.message)
      ? " If the previous network has its subnet, choose another subnet in the compose file."
      : "";
    const which = `The network ${wanted.key ?? wanted.name} could not be created`;
    throw new DomainError("deploy.start_failed", `${which}: ${explain(cause).replace(/\.?$/, ".")}${advice}`, {
      cause,
    });
  });
}

/** Stops containers in order, each before those that it depends on. Idempotent. */
export async function stopStack(
  containers: readonly SeenContainer[],
  stop: (container: SeenContainer) => Promise<void>,
): Promise<void> {
  const dependents = containers.map((one) => ({
    one,
    name: one.container.name,
    dependsOn: dependenciesOf(one.info.Config.Labels[DEPENDS_ON]),
  }));
  for (const group of stopOrder(dependents)) await Promise.all(group.map(({ one }) => stop(one)));
}

/** Removes a stack's networks unless containers of it exist, running or not. */
export async function removeStackNetworks(
  { docker, instance }: { readonly docker: Docker; readonly instance: string },
  resourceUuid: string,
  scope: string,
): Promise<void> {
  const labels: Labels = { ...ownedLabels(instance), [LABELS.resource]: resourceUuid, [LABELS.scope]: scope };
  const label = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  const left = await docker.listContainers({ all: true, filters: { label } });
  if (left.length === 0) await removeNetworks(docker, labels);
}

/** Removes the networks that one deployment created, once none of the resource's containers uses them. */
export async function removeMadeNetworks(
  { docker, instance }: { readonly docker: Docker; readonly instance: string },
  { resourceUuid, deploymentUuid }: ReleaseRef,
): Promise<void> {
  const own = { ...ownedLabels(instance), [LABELS.resource]: resourceUuid };
  const made = await ownNetworks(docker, { ...own, [LABELS.deployment]: deploymentUuid });
  if (made.length === 0) return;
  const left = await docker.listContainers({ all: true, filters: { ...labelFilter(own) } });
  const joined = new Set(left.flatMap(({ NetworkSettings }) => Object.keys(NetworkSettings?.Networks ?? {})));
  for (const { Id, Name } of made) if (!joined.has(Name)) await removeNetwork(docker, Id);
}
