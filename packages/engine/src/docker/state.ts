import {
  type ContainerState,
  type Health,
  REPLICA,
  type ReleaseContainer,
  type ReleaseRef,
  type ReleaseState,
  stackState,
} from "@berth/core/deploy";
import { COMPOSE_NUMBER, LABELS, type Labels, labelOf } from "@berth/docker-client";

/** What is read of an engine's description of a container. */
export interface DescribedContainer {
  readonly Id: string;
  readonly Name: string;
  readonly RestartCount: number;
  readonly State: {
    readonly Status: string;
    readonly ExitCode: number;
    readonly StartedAt: string;
    readonly Health?:
      | {
          readonly Status: string;
          readonly Log?: readonly { readonly ExitCode: number; readonly Output: string }[];
        }
      | undefined;
  };
  readonly Config: { readonly Labels: Labels };
  readonly HostConfig: {
    readonly NetworkMode?: string | undefined;
    readonly RestartPolicy?: { readonly Name?: string | undefined } | undefined;
  };
  readonly NetworkSettings: { readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>> };
  /** See `ReleaseState.isUncounted`. */
  readonly isUncounted?: true;
}

const STATES: ReadonlySet<string> = new Set<ContainerState>([
  ...(["created", "starting", "running", "restarting", "exited", "paused", "dead", "removing"] as const),
]);

/** States of a running release. While one container restarts, others of a stack may run. */
export const UP: ReadonlySet<string> = new Set<ContainerState>(["running", "restarting"]);

const isState = (text: string): text is ContainerState => STATES.has(text);

/** State of a container. @param lastExitCode Exit code of the previous run, which the engine forgets. */
export function stateOf(ref: ReleaseRef, info: DescribedContainer, lastExitCode: number | undefined): ReleaseState {
  const status = info.State.Status;
  const state = isState(status) ? status : "dead";
  const health = healthOf(info);
  const healthOutput = healthOutputOf(info);
  const lastingName = labelOf(info.Config.Labels, LABELS.lastingName);
  return {
    ...ref,
    state,
    upstream: state === "running" ? upstreamOf(info) : null,
    restartCount: info.RestartCount,
    exitCode: hasEnded(state) ? info.State.ExitCode : (lastExitCode ?? null),
    startedAt: dateOf(info.State.StartedAt),
    ...(info.isUncounted ? { isUncounted: true } : {}),
    ...(health === undefined ? {} : { health }),
    ...(healthOutput === undefined ? {} : { healthOutput }),
    ...(lastingName === undefined ? {} : { containerName: { now: nameOf(info), wanted: lastingName } }),
  };
}

/** A container's name without the slash that the engine puts before it. */
export const nameOf = ({ Name }: Pick<DescribedContainer, "Name">): string => Name.replace(/^\//, "");

/** One container of a release. */
export interface ReleasePart {
  /** Id of the container; empty where only a manager of its swarm was asked. */
  readonly id: string;
  readonly state: ReleaseState;
  readonly container: ReleaseContainer;
  /** Position among the containers of its release. */
  readonly order: number;
  /** Its labels say that the release has several containers. The first replica of an image says nothing of it. */
  readonly isMember: boolean;
  /** See `LABELS.run`; 0 outside of swarms. */
  readonly run: number;
  /** Id of the swarm's task that it says it is. */
  readonly task?: string | undefined;
}

export function partOf(ref: ReleaseRef, info: DescribedContainer, lastExitCode: number | undefined): ReleasePart {
  const state = stateOf(ref, info, lastExitCode);
  const { Labels } = info.Config;
  const slot = slotOf(Labels);
  const name = labelOf(Labels, LABELS.container);
  const order = (isOfStack(Labels) ? undefined : slot) ?? (Number(Labels[LABELS.order]) || 0);
  const container: ReleaseContainer = {
    ...identityOf(Labels, slot),
    state: state.state,
    ...(state.health === undefined ? {} : { health: state.health }),
    ...(state.healthOutput === undefined ? {} : { healthOutput: state.healthOutput }),
    restartCount: state.restartCount,
    exitCode: state.exitCode,
    startedAt: state.startedAt,
    address: state.state === "running" ? addressOf(info) : null,
    port: portIn(Labels),
    isExcluded: Labels[LABELS.excluded] === "true",
    ...(isStopped(info) ? { isStopped: true } : {}),
  };
  const isMember = name !== undefined;
  const task = Labels[SWARM_TASK_ID];
  return {
    ...{ id: info.Id, state, container, order, isMember, run: Number(Labels[LABELS.run]) || 0 },
    ...(task === undefined ? {} : { task }),
  };
}

/** Its name, and its number where there are several alike. @param slot Of a swarm's task. */
export function identityOf(
  labels: Labels,
  slot: number | undefined,
): Pick<ReleaseContainer, "name" | "number" | "isReplica"> {
  const name = labelOf(labels, LABELS.container);
  const isMember = name !== REPLICA || Boolean(labels[COMPOSE_NUMBER]) || isOfStack(labels);
  if (name !== undefined && isMember) return { name, ...composeNumber(labels, slot) };
  return { name: REPLICA, isReplica: true, number: slot ?? (Number(labels[LABELS.order]) || 1) };
}

/** Containers of a compose file, whatever their number, have networks of their own. */
const isOfStack = (labels: Labels): boolean => labelOf(labels, LABELS.scope) !== undefined;

/** The number of a swarm's task among those of its service. */
function slotOf(labels: Labels): number | undefined {
  const [, slot] = /^[^.]+\.(\d+)\.[^.]+$/.exec(labels[SWARM_TASK_NAME] ?? "") ?? [];
  return slot === undefined ? undefined : Number(slot);
}

/** Set by swarms: `<service>.<slot>.<task>`. */
const SWARM_TASK_NAME = "com.docker.swarm.task.name";
const SWARM_TASK_ID = "com.docker.swarm.task.id";

function composeNumber(labels: Labels, slot: number | undefined): Pick<ReleaseContainer, "number"> {
  const number = slot ?? Number(labels[COMPOSE_NUMBER]);
  return labelOf(labels, LABELS.replicas) === undefined || !Number.isInteger(number) ? {} : { number };
}

/** The engine restarts containers with these policies after an exit, so an exited one was stopped on purpose. */
const isStopped = ({ State, HostConfig }: DescribedContainer): boolean =>
  State.Status === "exited" && LASTING.has(HostConfig.RestartPolicy?.Name ?? "");

const LASTING: ReadonlySet<string> = new Set(["always", "unless-stopped"]);

/** Sorted as in the compose file, or by the number of the replica. */
export const inOrder = <T extends { readonly part: ReleasePart }>(parts: readonly T[]): readonly T[] =>
  parts.toSorted(
    ({ part: a }, { part: b }) => a.order - b.order || (a.container.number ?? 0) - (b.container.number ?? 0),
  );

/** Whether a release has several containers, or is made to have several. */
export const isCompound = (parts: readonly Pick<ReleasePart, "isMember">[]): boolean =>
  parts.length > 1 || parts.some(({ isMember }) => isMember);

/** State of a release, computed from its containers; `undefined` without any. */
export function releaseOf(parts: readonly ReleasePart[]): ReleaseState | undefined {
  const [first] = parts;
  if (first === undefined || !isCompound(parts)) return first?.state;
  const { resourceUuid, deploymentUuid } = first.state;
  const containers = inOrder(parts.map((part) => ({ part }))).map(({ part }) => part.container);
  const isUncounted = parts.some(({ state }) => state.isUncounted === true);
  return { resourceUuid, deploymentUuid, ...stackState(containers), ...(isUncounted ? { isUncounted } : {}) };
}

/** Whether the engine's exit code belongs to a finished run. */
export const hasEnded = (state: string): boolean => state === "exited" || state === "restarting" || state === "dead";

function upstreamOf(info: DescribedContainer): ReleaseState["upstream"] {
  const port = portIn(info.Config.Labels);
  const host = addressOf(info);
  return host === null || port === null ? null : { host, port };
}

function portIn(labels: Labels): number | null {
  const text = labelOf(labels, LABELS.port);
  const port = Number(text);
  return text === undefined || !Number.isInteger(port) ? null : port;
}

/**
 * The address in the network that the container was started in, since it may join and leave others. For a release of
 * several containers it is that of their common network: a bridge, which the server can always reach. In the host's
 * network it is the server itself.
 */
function addressOf({ Config, HostConfig, NetworkSettings }: DescribedContainer): string | null {
  const { NetworkMode = "" } = HostConfig;
  if (NetworkMode === "host") return "127.0.0.1";
  const { Networks } = NetworkSettings;
  const first = [labelOf(Config.Labels, LABELS.scope) ?? "", NetworkMode].flatMap((name) => Networks[name] ?? []);
  const all = [...first, ...Object.values(Networks)];
  return all.find(({ IPAddress }) => IPAddress !== "")?.IPAddress ?? null;
}

function healthOf({ State }: DescribedContainer): Health | "starting" | undefined {
  const status = State.Health?.Status;
  return status === "healthy" || status === "unhealthy" || status === "starting" ? status : undefined;
}

function healthOutputOf({ State }: DescribedContainer): string | undefined {
  if (State.Health?.Status !== "unhealthy") return undefined;
  // Not every engine that speaks this API has a log of it.
  const failed = State.Health.Log?.findLast(({ ExitCode }) => ExitCode !== 0);
  return failed?.Output.trim() || undefined;
}

/** Go's zero time means never. */
function dateOf(text: string): Date | null {
  const date = new Date(text);
  return date.getUTCFullYear() > 1 ? date : null;
}
