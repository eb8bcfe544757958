import type { ContainerInfo } from "dockerode";
import type { DescribedContainer } from "./state.ts";

/**
 * The description of a container that the engine's list suffices for: one that has been running for ten minutes or more.
 * The list lacks its restarts and the time of its start, which say little of one that is steady. Of others, more is
 * needed: an exit code, the output of a failed check, when it was started.
 * @returns `undefined`: it has to be inspected.
 */
export function describedInList(listed: ContainerInfo, name: string): DescribedContainer | undefined {
  const { Id, State, Status, Labels, HostConfig, NetworkSettings } = listed;
  if (State !== "running" || !isSteady(Status)) return undefined;
  const [, health] = /\(([^)]*)\)$/.exec(Status) ?? [];
  const checked = health === undefined ? {} : CHECKS.get(health);
  if (checked === undefined || !HostConfig?.NetworkMode || !NetworkSettings?.Networks) return undefined;
  return {
    ...{ Id, Name: name, RestartCount: 0, Config: { Labels }, HostConfig, NetworkSettings, isUncounted: true },
    State: { Status: State, ExitCode: 0, StartedAt: "", ...checked },
  };
}

/** Whether such a list says the result of a container's own check. Those of other engines with this API may not. */
export const isOfDocker = (headers: unknown): boolean =>
  headers instanceof Object && "server" in headers && /^Docker\//.test(String(headers.server));

const CHECKS: ReadonlyMap<string, Pick<DescribedContainer["State"], "Health">> = new Map([
  ["healthy", { Health: { Status: "healthy" } }],
  ["health: starting", { Health: { Status: "starting" } }],
]);

/** "Up 3 hours (healthy)", as the engine words it. */
function isSteady(status: string): boolean {
  const [, count, unit] = /^Up (\d+|About an) (minute|hour|day|week|month|year)s?\b/.exec(status) ?? [];
  return unit !== undefined && (unit !== "minute" || Number(count) >= STEADY_MINUTES);
}

/** Restarts are counted anew after this time, see the worker's `restarts.ts`. */
const STEADY_MINUTES = 10;
