import { fileURLToPath } from "node:url";
import { PROGRAM } from "#assets";
import type { Progress } from "./progress.ts";

const BERTH_PROGRAM = fileURLToPath(PROGRAM);

export interface Introduction {
  readonly url: string;
  /** `undefined` when it was made at an earlier start. */
  readonly token: string | undefined;
  /** Holds the token for the command line on this machine. */
  readonly cliFile: string;
}

/** Says where the server is reached. The token appears on a terminal only: output that is kept is read by others. */
export function introduce(progress: Progress, { url, token, cliFile }: Introduction): void {
  progress.line(`\n  API        ${url}/api/v1`);
  progress.line(`  tRPC       ${url}/trpc`);
  progress.line(`  Docs       ${url}/docs`);
  progress.line(`  Terminal   ${BERTH_PROGRAM}`);
  if (token === undefined) return;
  if (!progress.isTerminal) {
    progress.line(`  Token      in ${cliFile}, which only this user can read`);
    return;
  }
  progress.line(`  Token      ${token}`);
  progress.line(`             Shown this once. The command line on this machine reads it from ${cliFile}`);
}
