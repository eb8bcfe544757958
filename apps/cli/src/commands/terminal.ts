import type { TerminalPlace } from "@berth/core/resource";
import { EXIT, type ExitCode } from "../failure.ts";
import type { Session } from "../session.ts";
import { attach, requireTerminal } from "../terminal/attach.ts";

/**
 * Opens a terminal, and returns the exit code of what ran in it.
 * @param instead What to type when input or output is not a terminal.
 */
export async function attachTo(
  session: Session,
  place: TerminalPlace,
  instead: readonly string[] = [],
): Promise<ExitCode> {
  requireTerminal(session.system, instead);
  const exitCode = await attach(await session.resolve(), session.system, place);
  if (exitCode === null)
    session.output.warn("How the program ended is unknown: it was killed, or its container is gone.");
  // The program's exit code is passed on unchanged.
  return (exitCode ?? EXIT.failed) as ExitCode;
}
