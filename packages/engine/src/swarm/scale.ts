import { DomainError } from "@berth/core";
import type { ReleaseRef, ReleaseState } from "@berth/core/deploy";
import { requireSeveralPossible } from "./placement.ts";
import type { SeenRelease } from "./seen-release.ts";
import { type FoundService, placementOf, type Services, scaled } from "./services.ts";
import { problemOf } from "./start.ts";
import type { ClusterWatch } from "./watch.ts";

interface ScalePlace {
  readonly services: Services;
  readonly watch: ClusterWatch;
}

/**
 * Changes the number of tasks of a release. Resolves when all of them have started, and those that the swarm removes
 * have ended: which ones, it chooses itself.
 * @throws DomainError `deploy.start_failed` if no node can run one more, or its data is on one node; the number is what
 *   it was then.
 */
export async function scaleService(
  { services, watch }: ScalePlace,
  ref: ReleaseRef,
  replicas: number,
): Promise<ReleaseState | undefined> {
  const [before] = await services.of(ref);
  // The compose file says how many containers a stack has.
  if (before === undefined || before.member !== undefined) return undefined;
  if (replicas > 1) requireSeveralPossible(placementOf(before.spec));
  await watch.awaitedNodes.settled();
  await services.update(before, scaled(replicas));
  for (;;) {
    const changed = watch.changed(ref, undefined);
    const seen = await watch.find(ref);
    if (seen === undefined) return undefined;
    if (replicas < before.replicas) watch.leave(ref, await leavingNumbers(services, before));
    if (isDone(seen)) {
      watch.leave(ref, []);
      return (await watch.find(ref))?.state;
    }
    const problem = problemOf(await services.tasks(before));
    if (problem !== undefined && replicas > before.replicas && !(await watch.awaitedNodes.isSettling())) {
      await services.update(before, scaled(before.replicas));
      throw new DomainError("deploy.start_failed", problem);
    }
    await changed;
  }
}

/** Numbers of the tasks that should not run any more. */
async function leavingNumbers(services: Services, service: FoundService): Promise<readonly number[]> {
  const tasks = await services.tasks(service);
  const wanted = new Set(tasks.flatMap(({ DesiredState, Slot }) => (DesiredState === "running" ? (Slot ?? []) : [])));
  return tasks.flatMap(({ Slot }) => (Slot === undefined || wanted.has(Slot) ? [] : Slot));
}

function isDone({ services: [service], state, containers }: SeenRelease): boolean {
  if (service === undefined || service.isStopped) return true;
  const running = containers.filter(({ info }) => info.State.Running).length;
  const states = state.containers?.map((one) => one.state) ?? [state.state];
  return running <= service.replicas && states.every((one) => one !== "created" && one !== "starting");
}
