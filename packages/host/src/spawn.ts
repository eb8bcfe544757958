import { channel } from "node:diagnostics_channel";
import { DomainError } from "@berth/core";
import type { Argv } from "./argv.ts";
import { spawnHere } from "./own-spawn.ts";
import type { Program, ProgramStarter, Stdio } from "./program.ts";
import { asUser, type Identity } from "./user.ts";

export interface SpawnOptions extends Identity {
  readonly env: Readonly<Record<string, string>>;
  /** `cgroup.procs` of each group that the program joins once it runs. */
  readonly cgroupFiles?: readonly string[] | undefined;
}

let start: ProgramStarter = spawnHere;

/**
 * Sets what starts all programs of this process; default: the process itself. Only the composition root of a program
 * that serves requests calls it.
 */
export function startProgramsBy(starter: ProgramStarter): void {
  start = starter;
}

/** Tells who counts programs, whatever starts them, as Node's own channel `child_process` does for its spawns. */
const asked = channel("berth.program");

/**
 * Starts a program without a shell, as leader of its own session and process group, with exactly the given
 * environment.
 * @throws DomainError `engine.failed` when the program or the working directory does not exist or may not be used, when
 *   arguments and environment are longer than Linux allows, or when the machine has nothing left for another process.
 */
export async function spawnAs(argv: Argv, options: SpawnOptions, stdio: readonly Stdio[]): Promise<Program> {
  const { env, cgroupFiles = [] } = options;
  const { argv: command, ids, cwd } = asUser(argv, options);
  asked.publish(command);
  // Checked first: what starts programs for all would need memory and time for it, only to be refused.
  if (lengthOf(command, env) > PROGRAM_BYTES_MAX) throw tooLong(argv);
  try {
    return await start({ argv: command, env, cwd, ids, stdio, cgroupFiles });
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "E2BIG") throw tooLong(argv, cause);
    const isExhausted = typeof code === "string" && EXHAUSTED.has(code);
    if (!isExhausted && !isOfProgram(cause)) throw cause;
    const reason = isExhausted ? NOTHING_LEFT : reasonOf(code, options);
    throw new DomainError("engine.failed", `The program ${argv[0]} cannot be started: ${reason}`, { cause });
  }
}

/** Codes of errors when processes, memory or open files have run out, here or in the launcher. */
const EXHAUSTED: ReadonlySet<string> = new Set(["EAGAIN", "EMFILE", "ENFILE", "ENOMEM"]);

const NOTHING_LEFT =
  "this machine has no process, memory or open file left for it. End what is not needed, or raise the limit, and try again.";

function reasonOf(code: unknown, { cwd }: SpawnOptions): string {
  if (code === "EACCES") {
    const place = cwd === undefined ? "" : ", or its folder may not be entered";
    return `its file may not be executed${place}. Check the permissions and try again.`;
  }
  const place = cwd === undefined ? "" : " or the folder to run it in does not exist";
  return `it is not installed${place}. Install it and try again.`;
}

/** Linux passes no more to a program unless somebody raised the limit of its stack. */
const PROGRAM_BYTES_MAX = 2 * 1024 * 1024;

/** In characters, of which each has at least a byte. */
function lengthOf(argv: Argv, env: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const word of argv) length += word.length;
  for (const [name, value] of Object.entries(env)) length += name.length + value.length;
  return length;
}

const tooLong = ([program]: Argv, cause?: unknown) =>
  new DomainError(
    "engine.failed",
    `The program ${program} cannot be started: its arguments and variables are longer than Linux allows, which is 128 KB ` +
      "each and usually 2 MB together. Shorten them, or mount a file.",
    { cause },
  );

/** Errors of the start itself, rather than of a file for its output. */
const isOfProgram = (cause: unknown): boolean =>
  cause instanceof Error && "syscall" in cause && /^spawn( |$)/.test(String(cause.syscall));

/**
 * Call it before `spawnAs` with a user: the started program enters the folder itself, and its exit code for a failure
 * would be ambiguous.
 * @throws DomainError `engine.failed` when the folder does not exist, or the user may not enter it.
 */
export async function checkFolder(argv: Argv, { cwd, user }: SpawnOptions): Promise<void> {
  if (cwd === undefined || user === undefined) return;
  const shell = await spawnAs(["/bin/sh", "-c", ":"], { env: {}, cwd, user }, ["ignore", "ignore", "ignore"]);
  if ((await shell.exitCode) === 0) return;
  throw new DomainError(
    "engine.failed",
    `The program ${argv[0]} cannot be started: its working folder no longer exists, or is a link to where ` +
      "its user may not go. See what came before it.",
  );
}
