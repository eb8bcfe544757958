import { fileURLToPath } from "node:url";
import type { Application } from "@berth/core/application";
import { isRunning } from "@berth/core/deploy";
import { PROGRAM } from "#assets";
import type { Progress } from "./progress.ts";

const BERTH_PROGRAM = fileURLToPath(PROGRAM);

export interface Introduction {
  readonly url: string;
  /** `undefined` if it was created at an earlier start. */
  readonly token: string | undefined;
  /** File with the token for the command line on this machine. */
  readonly cliFile: string;
  /** One-time link for the first user to sign in and set a password; `undefined` if they have one. */
  readonly signInUrl: string | undefined;
}

type ListedApplication = Pick<Application, "name" | "status" | "urls">;

/** Prints the applications of an earlier start: where they answer, or that they do not. */
export function listApplications(
  progress: Pick<Progress, "line">,
  applications: readonly ListedApplication[],
  total: number,
): void {
  if (total > 0) progress.line("\n  Applications");
  for (const { name, status, urls } of applications)
    progress.line(`  ${name.padEnd(10)} ${isRunning(status) ? urls.join(" ") : status}`);
  if (total > applications.length) progress.line(`  and ${total - applications.length} more applications`);
  progress.line(
    "\nReady. Ctrl-C stops Berth and the applications that are its processes; the next start brings them back.",
  );
  progress.line("Containers keep running.");
}

/** Prints the server's URL. Token and link are only printed on a terminal, since others may read stored output. */
export function introduce(progress: Progress, { url, token, cliFile, signInUrl }: Introduction): void {
  progress.line(`\n  API        ${url}/api/v1`);
  progress.line(`  tRPC       ${url}/trpc`);
  progress.line(`  Docs       ${url}/docs`);
  progress.line(`  Terminal   ${BERTH_PROGRAM}`);
  if (!progress.isTerminal) {
    progress.line("  Sign in    berth login --web makes a link for the dashboard, which works once");
  } else if (signInUrl !== undefined) {
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
