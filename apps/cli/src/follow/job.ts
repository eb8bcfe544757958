import type { Job } from "@berth/core/server";
import { isJobOver } from "@berth/core/server";
import type { Command } from "commander";
import { EXIT, type ExitCode } from "../failure.ts";
import { printable, printableLine } from "../printable.ts";
import type { Session } from "../session.ts";
import { followRun } from "./run.ts";

export const addWaitFlag = (command: Command): Command => command.option("--no-wait", "do not wait until it is done");

/** Prints a job's output until it has ended. @returns `undefined` after Ctrl-C */
export async function followJob(session: Session, uuid: string): Promise<Job | undefined> {
  const { output } = session;
  const { client } = await session.connect();
  let shown = "";
  const show = ({ log }: Job) => {
    const now = log ?? "";
    if (!output.isJson) for (const line of newLines(shown, now)) output.line(printableLine(line, false));
    shown = now;
  };
  return followRun(session, {
    subscribe: (handlers) => client.jobs.follow.subscribe({ uuid }, handlers),
    isOver: ({ status }) => isJobOver(status),
    show,
    waitsFor: "Waiting until it is done",
  });
}

/**
 * The lines of an output that have not been shown. Of a long output a job has the end only, after a line with `…`, so
 * the last line that was shown moves up. An output that is shorter than before is the one of a new attempt.
 */
export function newLines(shown: string, now: string): readonly string[] {
  const before = linesOf(shown);
  const lines = linesOf(now);
  if (now.length < shown.length) return lines;
  const last = before.at(-1);
  if (last === undefined) return lines;
  // The first line of a cut output may be the end of a line.
  const begin = lines[0] === CUT ? 2 : 0;
  for (let at = lines.lastIndexOf(last); at >= begin; at = at === 0 ? -1 : lines.lastIndexOf(last, at - 1)) {
    const earlier = before.slice(-(at - begin + 1));
    if (earlier.length === at - begin + 1 && earlier.every((line, number) => line === lines[begin + number]))
      return lines.slice(at + 1);
  }
  return lines;
}

const CUT = "…";
const linesOf = (log: string): readonly string[] => (log === "" ? [] : log.split("\n"));

/** Prints a job's output, and reports how it ended. */
export async function waitForJob(session: Session, uuid: string): Promise<ExitCode> {
  const { output } = session;
  const job = await followJob(session, uuid);
  if (job === undefined) {
    output.warn(`Still running. Check with: berth jobs get ${uuid}`);
    return EXIT.interrupted;
  }
  if (job.status === "finished") {
    output.line("Done.");
    return EXIT.ok;
  }
  output.warn(printable(job.error ?? `It ended as ${job.status}.`));
  return EXIT.failed;
}
