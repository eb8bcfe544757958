import type { ContainerState, Health, ReleaseRef, ReleaseState } from "@berth/core";
import type { ContainerInspectInfo } from "dockerode";
import { LABELS } from "./labels.ts";

const STATES: ReadonlySet<string> = new Set<ContainerState>([
  ...(["created", "starting", "running", "restarting", "exited", "paused", "dead", "removing"] as const),
]);

const isState = (text: string): text is ContainerState => STATES.has(text);

/** What is seen of a container. @param lastExitCode Of the run before the one that goes on: the engine forgets it. */
export function stateOf(ref: ReleaseRef, info: ContainerInspectInfo, lastExitCode: number | undefined): ReleaseState {
  const status = info.State.Status;
  const state = isState(status) ? status : "dead";
  const health = healthOf(info);
  return {
    ...ref,
    state,
    upstream: state === "running" ? upstreamOf(info) : null,
    restartCount: info.RestartCount,
    exitCode: hasEnded(state) ? info.State.ExitCode : (lastExitCode ?? null),
    startedAt: dateOf(info.State.StartedAt),
    ...(health === undefined ? {} : { health }),
  };
}

/** Whether the exit code that the engine tells is one of a run that ended. */
export const hasEnded = (state: string): boolean => state === "exited" || state === "restarting" || state === "dead";

function upstreamOf({ Config, NetworkSettings }: ContainerInspectInfo): ReleaseState["upstream"] {
  const port = Number(Config.Labels[LABELS.port]);
  const host = Object.values(NetworkSettings.Networks).find(({ IPAddress }) => IPAddress !== "")?.IPAddress;
  return host === undefined || !Number.isInteger(port) ? null : { host, port };
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
