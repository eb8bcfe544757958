import { duration } from "../format.ts";
import type { Colors } from "../output.ts";
import { printableLine } from "../printable.ts";
import { type FollowState, STEP_TITLES, type StepView, tookMilliseconds } from "./state.ts";
import { SPINNER } from "./waiting.ts";

const INDENT = "    ";

export interface FrameOptions {
  readonly now: Date;
  /** Increases by one with each frame. */
  readonly tick: number;
  readonly columns: number;
  readonly colors: Colors;
  /** Shown instead of the last line while the connection is lost. */
  readonly trouble: string | undefined;
}

/** Terminal view of a running deployment: steps with symbol and duration, and the last log line. */
export function frame(state: FollowState, options: FrameOptions): string {
  const { colors, tick, columns, trouble } = options;
  const spinner = colors.cyan(SPINNER[tick % SPINNER.length] ?? "");
  const lines = state.steps.flatMap((step) => stepLines(state, step, spinner, options));
  const waitsFor = waiting(state);
  if (waitsFor !== undefined) lines.push(`${spinner} ${colors.dim(waitsFor)}`);
  if (trouble !== undefined) lines.push(colors.yellow(cut(`  ${trouble}`, columns)));
  return lines.join("\n");
}

/** Text while no step runs. */
function waiting({ status, steps }: FollowState): string | undefined {
  if (status === undefined) return "Connecting";
  if (status === "queued") return "Waiting in the queue";
  if (status !== "in_progress" || steps.some((step) => step.status === "running")) return undefined;
  return steps.some((step) => step.status === "failed" || step.status === "cancelled") ? "Tidying up" : "Going on";
}

function stepLines(state: FollowState, step: StepView, spinner: string, options: FrameOptions): readonly string[] {
  const { colors, now, columns } = options;
  const title = STEP_TITLES[step.name].padEnd(TITLE_WIDTH);
  const took = tookMilliseconds(step, now);
  const time = took === undefined ? "" : colors.dim(duration(took));
  const line = `${signOf(step, spinner, colors)} ${hasBegun(step) ? title : colors.dim(title)} ${time}`;
  const last = step.status === "running" ? state.lines[step.name]?.findLast((text) => text.trim() !== "") : undefined;
  if (last === undefined) return [line.trimEnd()];
  return [line.trimEnd(), colors.dim(cut(INDENT + printableLine(last, false).trim(), columns))];
}

const hasBegun = ({ status }: StepView) => status !== "pending" && status !== "skipped";

const TITLE_WIDTH = Math.max(...Object.values(STEP_TITLES).map((title) => title.length));

function signOf({ status }: StepView, spinner: string, colors: Colors): string {
  switch (status) {
    case "running":
      return spinner;
    case "done":
      return colors.green("✓");
    case "failed":
      return colors.red("✗");
    case "cancelled":
      return colors.yellow("■");
    case "undone":
      return colors.yellow("↶");
    case "skipped":
    case "pending":
      return colors.dim("·");
  }
}

/** Cuts to one terminal line. Wide characters count once, so such a line may still wrap. */
export const cut = (text: string, columns: number): string => {
  const characters = [...text];
  return characters.length <= columns ? text : `${characters.slice(0, Math.max(1, columns - 1)).join("")}…`;
};
