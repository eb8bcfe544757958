import type { Health } from "./container-state.ts";
import type { ReleaseContainer, ReleaseState } from "./release.ts";

type Aggregate = Pick<
  ReleaseState,
  "state" | "restartCount" | "exitCode" | "startedAt" | "health" | "upstream" | "containers"
>;

/**
 * The state of the whole release. Containers that run once or are excluded from the status count only if there are no
 * others.
 * @param containers In the order of the compose file.
 */
export function stackState(containers: readonly ReleaseContainer[]): Aggregate {
  const counted = countedContainers(containers);
  const main = mainContainer(containers);
  const health = healthOf(counted);
  return {
    state: stateOf(counted),
    upstream: main === undefined ? null : upstreamOf(main),
    restartCount: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    exitCode: counted.find(({ exitCode }) => exitCode !== null && exitCode !== 0)?.exitCode ?? main?.exitCode ?? null,
    startedAt: counted.reduce<Date | null>((last, { startedAt }) => laterOf(last, startedAt), null),
    containers,
    ...(health === undefined ? {} : { health }),
  };
}

/** Containers that run once or are excluded from the status count only if there are no others. */
function countedContainers(containers: readonly ReleaseContainer[]): readonly ReleaseContainer[] {
  const lasting = containers.filter(({ isExcluded }) => !isExcluded);
  return lasting.length > 0 ? lasting : containers;
}

/** The first container that takes requests, else the first one. */
export function mainContainer(containers: readonly ReleaseContainer[]): ReleaseContainer | undefined {
  const counted = countedContainers(containers);
  return counted.find(({ port }) => port !== null) ?? counted[0];
}

const upstreamOf = ({ state, address, port }: ReleaseContainer): ReleaseState["upstream"] =>
  state !== "running" || address === null || port === null ? null : { host: address, port };

function stateOf(containers: readonly ReleaseContainer[]): ReleaseState["state"] {
  const has = (state: ReleaseState["state"]) => containers.some((container) => container.state === state);
  // The most informative state comes first: crash loops, then running, then states before a start.
  const first = (["restarting", "running", "paused", "starting", "removing", "dead", "exited"] as const).find(has);
  return first ?? (containers.length === 0 ? "exited" : "created");
}

/**
 * A failed container makes the release unhealthy, whatever the others report. If one container has no check, the
 * health of the release is unknown.
 */
function healthOf(containers: readonly ReleaseContainer[]): Health | "starting" | undefined {
  const isUp = containers.some(({ state }) => state === "running");
  if (isUp && containers.some(hasFailed)) return "unhealthy";
  const all = containers.filter(({ state }) => state === "running").map(({ health }) => health);
  const bad = (["unhealthy", "starting"] as const).find((health) => all.includes(health));
  return bad ?? (all.every((health) => health !== undefined) ? all[0] : undefined);
}

const hasFailed = ({ state, exitCode }: ReleaseContainer): boolean =>
  state === "dead" || (state === "exited" && exitCode !== 0);

const laterOf = (one: Date | null, other: Date | null): Date | null =>
  one === null || (other !== null && other > one) ? other : one;
