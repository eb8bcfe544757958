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
  /** Signs the first user in, once, and lets them choose a password; `undefined` where they have one. */
  readonly signInUrl: string | undefined;
}

/** Says where the server is reached. The token and the link appear on a terminal only: output that is kept is read by others. */
export function introduce(progress: Progress, { url, token, cliFile, signInUrl }: Introduction): void {
  progress.line(`\n  API        ${url}/api/v1`);
  progress.line(`  tRPC       ${url}/trpc`);
  progress.line(`  Docs       ${url}/docs`);
  progress.line(`  Terminal   ${BERTH_PROGRAM}`);
  if (signInUrl !== undefined && progress.isTerminal) {
    progress.line(`  Sign in    ${signInUrl}`);
    progress.line("             Works once, within 24 hours. berth login --web makes another one");
  }
  if (token === undefined) return;
  if (!progress.isTerminal) {
    progress.line(`  Token      in ${cliFile}, which only this user can read`);
    return;
  }
  progress.line(`  Token      ${token}`);
  progress.line(`             Shown this once. The command line on this machine reads it from ${cliFile}`);
}
