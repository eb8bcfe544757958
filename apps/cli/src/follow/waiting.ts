import type { Session } from "../session.ts";

/** A line that says what a command waits for, and for how long already. */
export interface WaitingLine {
  /** Draws it anew. To be called about every half second. */
  tick(): void;
  /** Takes it away before something else is printed. */
  clear(): void;
}

export const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/** What takes less needs no explanation. */
const QUIET_MS = 1_000;
/** Of a terminal the line is drawn anew; a log gets another line, so not as often. */
const LOG_MS = 10_000;

export function waitingLine(
  { output, system }: Pick<Session, "output" | "system">,
  text: string,
  now: () => number = Date.now,
): WaitingLine {
  const begun = now();
  let [ticks, logged, isDrawn] = [0, begun, false];
  const clear = () => {
    if (isDrawn) system.stdout.write("\r\u001b[K");
    isDrawn = false;
  };
  const tick = () => {
    const waited = now() - begun;
    if (output.isJson || waited < QUIET_MS) return;
    const line = `${text} (${Math.floor(waited / 1000)} s)`;
    if (output.isLive) {
      clear();
      isDrawn = true;
      system.stdout.write(`${output.colors.cyan(SPINNER[ticks++ % SPINNER.length] ?? "")} ${output.colors.dim(line)}`);
    } else if (now() - logged >= LOG_MS) {
      logged = now();
      output.line(line);
    }
  };
  return { tick, clear };
}
