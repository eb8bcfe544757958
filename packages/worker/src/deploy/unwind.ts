import { isDatabaseUnavailable } from "@berth/core";
import { pause, within } from "../wait.ts";
import { type Failure, handOver } from "./failure.ts";
import { type DeployStep, type Run, saveStep, stepContext } from "./progress.ts";

/**
 * Undoes what a deployment has made, the last step first. Every undo may run twice: a worker that goes away here
 * leaves the rest to the next one, which begins again.
 */
export async function unwind(run: Run, failure: Failure): Promise<void> {
  const status = failure.outcome === "failed" ? "failed" : "cancelled";
  const { message: error } = failure;
  if (run.rows.get(failure.step)?.status !== status) await saveStep(run, failure.step, { status, error });

  for (const step of [...run.steps].reverse()) {
    const before = run.rows.get(step.name)?.status ?? "pending";
    if (before === "pending" || before === "skipped") continue;
    if (run.ctx.leaseKeeper.isLost) throw handOver();
    await undo(run, step);
    if (before === "done") await saveStep(run, step.name, { status: "undone" });
  }

  const begun = [...run.rows].filter(([, { status }]) => status !== "pending").map(([name]) => name);
  const notBegun = [...run.steps.map(({ name }) => name), "retire" as const].filter((name) => !begun.includes(name));
  for (const name of notBegun) await saveStep(run, name, { status: "skipped" });
}

async function undo(run: Run, step: DeployStep): Promise<void> {
  if (step.undo === undefined) return;
  for (let attempt = 1; ; attempt++) {
    try {
      if ((await within(run.settings.undoSecondsMax, step.undo(stepContext(run, step.name), run.state))) !== undefined)
        return;
      // One that hangs would hang again.
      return follows(run, step);
    } catch (error) {
      if (run.ctx.leaseKeeper.isLost || isDatabaseUnavailable(error)) throw error;
      run.logger.warn("A step of a deployment could not be undone.", {
        deployment: run.ctx.deployment.uuid,
        step: step.name,
        attempt,
        error,
      });
      if (attempt >= run.settings.undoAttemptsMax) return follows(run, step);
      await pause(0.5 * attempt);
    }
  }
}

/** The record of the candidate stays, so the reconciler removes it as soon as the engine answers. */
const follows = ({ log }: Run, { name }: DeployStep): void =>
  log.say(name, `What ${name} made is not removed yet; that follows.`, "stderr");
