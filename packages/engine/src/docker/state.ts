import {
  type ContainerState,
  type Health,
  type ReleaseContainer,
  type ReleaseRef,
  type ReleaseState,
  stackState,
} from "@berth/core/deploy";
import { LABELS, type Labels, labelOf } from "@berth/docker-client";
import type { ContainerInspectInfo } from "dockerode";

const STATES: ReadonlySet<string> = new Set<ContainerState>([
  ...(["created", "starting", "running", "restarting", "exited", "paused", "dead", "removing"] as const),
]);

const isState = (text: string): text is ContainerState => STATES.has(text);

/** State of a container. @param lastExitCode Exit code of the previous run, which the engine forgets. */
export function stateOf(ref: ReleaseRef, info: ContainerInspectInfo, lastExitCode: number | undefined): ReleaseState {
  const status = info.State.Status;
  const state = isState(status) ? status : "dead";
  const health = healthOf(info);
  const lastingName = labelOf(info.Config.Labels, LABELS.lastingName);
  return {
    ...ref,
    state,
    upstream: state === "running" ? upstreamOf(info) : null,
    restartCount: info.RestartCount,
    exitCode: hasEnded(state) ? info.State.ExitCode : (lastExitCode ?? null),
    startedAt: dateOf(info.State.StartedAt),
    ...(health === undefined ? {} : { health }),
    ...(lastingName === undefined ? {} : { containerName: { now: nameOf(info), wanted: lastingName } }),
  };
}

/** A container's name without the slash that the engine puts before it. */
export const nameOf = ({ Name }: Pick<ContainerInspectInfo, "Name">): string => Name.replace(/^\//, "");

/** One container of a release. */
export interface Part {
  readonly state: ReleaseState;
  /** For a release of several containers: which one this is, and its position among them. */
  readonly member: { readonly container: ReleaseContainer; readonly order: number } | undefined;
}

export function partOf(ref: ReleaseRef, info: ContainerInspectInfo, lastExitCode: number | undefined): Part {
  const state = stateOf(ref, info, lastExitCode);
  const { Labels } = info.Config;
  const name = labelOf(Labels, LABELS.container);
  if (name === undefined) return { state, member: undefined };
  const number = Number(Labels["com.docker.compose.container-number"]);
  const container: ReleaseContainer = {
    name,
    ...(labelOf(Labels, LABELS.replicas) === undefined || !Number.isInteger(number) ? {} : { number }),
    state: state.state,
    ...(state.health === undefined ? {} : { health: state.health }),
    restartCount: state.restartCount,
    exitCode: state.exitCode,
    startedAt: state.startedAt,
    address: state.state === "running" ? addressOf(info) : null,
    port: portIn(Labels),
    isExcluded: Labels[LABELS.excluded] === "true",
    ...(isStopped(info) ? { isStopped: true } : {}),
  };
  return { state, member: { container, order: Number(Labels[LABELS.order]) || 0 } };
}

/** The engine restarts containers with these policies after an exit, so an exited one was stopped on purpose. */
const isStopped = ({ State, HostConfig }: ContainerInspectInfo): boolean =>
  State.Status === "exited" && LASTING.has(HostConfig.RestartPolicy?.Name ?? "");

const LASTING: ReadonlySet<string> = new Set(["always", "unless-stopped"]);

/** Sorted as in the compose file. */
export const inOrder = <T extends { readonly part: Part }>(parts: readonly T[]): readonly T[] =>
  parts.toSorted(
    ({ part: { member: a } }, { part: { member: b } }) =>
      (a?.order ?? 0) - (b?.order ?? 0) || (a?.container.number ?? 0) - (b?.container.number ?? 0),
  );

/** State of a release, computed from its containers; `undefined` without any. */
export function releaseOf(parts: readonly Part[]): ReleaseState | undefined {
  const [first] = parts;
  if (first === undefined || first.member === undefined) return first?.state;
  const { resourceUuid, deploymentUuid } = first.state;
  const members = inOrder(parts.map((part) => ({ part }))).flatMap(({ part }) => part.member?.container ?? []);
  return { resourceUuid, deploymentUuid, ...stackState(members) };
}

/** Whether the engine's exit code belongs to a finished run. */
export const hasEnded = (state: string): boolean => state === "exited" || state === "restarting" || state === "dead";

function upstreamOf(info: ContainerInspectInfo): ReleaseState["upstream"] {
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
function addressOf({ Config, HostConfig, NetworkSettings }: ContainerInspectInfo): string | null {
  const { NetworkMode = "" } = HostConfig;
  if (NetworkMode === "host") return "127.0.0.1";
  const { Networks } = NetworkSettings;
  const first = [labelOf(Config.Labels, LABELS.scope) ?? "", NetworkMode].flatMap((name) => Networks[name] ?? []);
  const all = [...first, ...Object.values(Networks)];
  return all.find(({ IPAddress }) => IPAddress !== "")?.IPAddress ?? null;
}

function healthOf({ State }: ContainerInspectInfo): Health | "starting" | undefined {
  const status = State.Health?.Status;
  return status === "healthy" || status === "unhealthy" || status === "starting" ? status : undefined;
}

/** Go's zero time means never. */
function dateOf(text: string): Date | null {
  const date = new Date(text);
  return date.getUTCFullYear() > 1 ? date : null;
}
