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
  let shown = 0;
  const show = ({ log }: Job) => {
    const lines = log ? log.split("\n") : [];
    if (!output.isJson) for (const line of lines.slice(shown)) output.line(printableLine(line, false));
    shown = lines.length;
  };
  return followRun(session, {
    subscribe: (handlers) => client.jobs.follow.subscribe({ uuid }, handlers),
    isOver: ({ status }) => isJobOver(status),
    show,
    waitsFor: "Waiting until it is done",
  });
}

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
