import { crashOf } from "../application/health-check.ts";
import { containerTitle } from "../compose/replicas.ts";
import type { ReleaseContainer, ReleaseState } from "./release.ts";

/** Why a stack that was just started will not become healthy; `undefined` while it may. */
export function stackCrash(state: ReleaseState | undefined): string | undefined {
  if (state === undefined) return "it is gone";
  const crashes = countedOf(state).map((container) => [containerTitle(container), containerCrash(container)] as const);
  const [name, crash] = crashes.find(([, phrase]) => phrase !== undefined) ?? [];
  return crash === undefined ? undefined : `container ${name}: ${crash}`;
}

/** Which container of a stack fails its own check; `undefined` if none does. */
export function stackFailedCheck(state: ReleaseState | undefined): string | undefined {
  const failing = state?.containers === undefined ? undefined : countedOf(state).find(failsOwnCheck);
  return failing && `container ${containerTitle(failing)}: its HEALTHCHECK fails`;
}

/** The title of the container to blame for a failure; `undefined` if none of several is in trouble. */
export function failingContainer(state: ReleaseState | undefined): string | undefined {
  if (state?.containers === undefined) return undefined;
  const counted = countedOf(state);
  const problems = [
    (one: ReleaseContainer) => containerCrash(one) !== undefined,
    failsOwnCheck,
    (one: ReleaseContainer) => containerProblem(one, STEADY_SECONDS) !== undefined,
  ];
  const [failing] = problems.flatMap((hasProblem) => counted.filter(hasProblem));
  return failing && containerTitle(failing);
}

/**
 * The remaining problem of a stack, as a phrase; `undefined` when healthy: all containers that count run, and are
 * healthy by their own check or have run for some seconds. Containers that run once may have ended.
 * @param ranSeconds Since the last of them was started or has restarted.
 */
export function stackProblem(state: ReleaseState | undefined, ranSeconds: number): string | undefined {
  if (state === undefined) return "it has not started yet";
  const problems = countedOf(state).map(
    (container) => [containerTitle(container), containerProblem(container, ranSeconds)] as const,
  );
  const [name, problem] = problems.find(([, phrase]) => phrase !== undefined) ?? [];
  return problem === undefined ? undefined : `container ${name} ${problem}`;
}

/** Differs from what it was as soon as something that counts in the release was started or has restarted. */
export function runsOf(state: ReleaseState | undefined): string {
  const ran = state?.containers === undefined ? [state] : countedOf(state);
  return ran.map((one) => `${one?.restartCount} ${one?.startedAt?.getTime()}`).join();
}

/** Containers that run once or are excluded from the status count only if there are no others. */
function countedOf({ containers = [] }: ReleaseState): readonly ReleaseContainer[] {
  const counted = containers.filter(({ isExcluded }) => !isExcluded);
  return counted.length > 0 ? counted : containers;
}

export const hasDoneItsWork = ({ state, exitCode }: ReleaseContainer): boolean => state === "exited" && exitCode === 0;

function containerCrash(container: ReleaseContainer): string | undefined {
  return hasDoneItsWork(container) ? undefined : crashOf(container);
}

/** The engine calls a container unhealthy, too, that has ended and will be restarted. */
const failsOwnCheck = ({ state, health }: ReleaseContainer): boolean => state === "running" && health === "unhealthy";

function containerProblem(container: ReleaseContainer, ranSeconds: number): string | undefined {
  if (hasDoneItsWork(container)) return undefined;
  if (container.state !== "running") return `is ${container.state}`;
  if (container.health === "healthy") return undefined;
  if (container.health !== undefined) return "has not passed its HEALTHCHECK yet";
  return ranSeconds >= STEADY_SECONDS ? undefined : "has not run for long yet";
}

/** What has no check counts as healthy after running this long. */
export const STEADY_SECONDS = 5;
