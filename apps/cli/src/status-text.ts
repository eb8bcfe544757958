import type { DeploymentStatus } from "@berth/core/deploy";
import type { Colors, Output } from "./output.ts";
import { printable } from "./printable.ts";

/** A status such as `running:healthy` as coloured text. */
export function statusText(status: string, colors: Colors): string {
  const [state = "", health = ""] = status.split(":");
  // Only running resources have a health.
  const text = printable(state === "running" && health !== "" ? `${state} (${health})` : state) || "-";
  if (state === "running") return health === "unhealthy" ? colors.yellow(text) : colors.green(text);
  if (state === "degraded" || state === "dead") return colors.red(text);
  return state === "exited" ? colors.dim(text) : colors.yellow(text);
}

/** Lines below a list. @param problems Name and problem of each object; an older server does not send all problems. */
export function warnOfProblems(
  output: Pick<Output, "warn">,
  problems: readonly (readonly [name: string, problem: string | null | undefined])[],
): void {
  for (const [name, problem] of problems) {
    if (problem) output.warn(`${printable(name)}: ${printable(problem)}`);
  }
}

export function deploymentStatusText(status: DeploymentStatus, colors: Colors): string {
  switch (status) {
    case "finished":
      return colors.green(status);
    case "failed":
      return colors.red(status);
    case "cancelled-by-user":
      return colors.yellow("cancelled");
    case "queued":
    case "in_progress":
      return colors.cyan(status.replace("_", " "));
  }
}
