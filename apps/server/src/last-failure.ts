import { readFileSync } from "node:fs";
import { z } from "zod";
import { writePrivateFile } from "./private-file.ts";

/** Report that the parent process writes after a crash of the server. */
const LastFailure = z.object({
  ended_at: z.iso.datetime(),
  version: z.string(),
  reason: z.string(),
  ran_seconds: z.number(),
  /** The last lines of its log. */
  log: z.array(z.string()),
  is_shown: z.boolean().default(false),
});

/** A sentence about the crash of the previous run, returned once; `undefined` when there was none. */
export function takeLastFailure(file: string): string | undefined {
  const failure = read(file);
  if (failure === undefined || failure.is_shown) return undefined;
  writePrivateFile(file, `${JSON.stringify({ ...failure, is_shown: true }, null, 2)}\n`);
  const { ended_at, reason, ran_seconds } = failure;
  return `Berth ended unexpectedly at ${ended_at}, after ${ran_seconds} s: ${reason}. The report is in ${file}.`;
}

function read(file: string): z.infer<typeof LastFailure> | undefined {
  try {
    return LastFailure.safeParse(JSON.parse(readFileSync(file, "utf8"))).data;
  } catch {
    // The report is missing, or incomplete because the disk was full.
    return undefined;
  }
}
