import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { FolderArtifact } from "@berth/core/deploy";
import { type Argv, EXPORT_CARRIED, SMALL_NODE, systemProgram } from "@berth/host";
import type { Runtime } from "./runtime.ts";

/**
 * Starts an application once its gate opens, and writes its exit code to file descriptor 3: so the exit code survives
 * the control plane, and no application runs that the control plane has not recorded.
 *
 * Output goes through a pipe to a `cat` in a separate session. The application may then open /dev/stdout without
 * truncating the log, its output while it stops is not lost, and the log can be rotated while `cat` is paused. When
 * the disk is full, `cat` is restarted: log lines are lost, but the application continues. `cat` gets no environment,
 * because the marker there identifies the application's processes.
 *
 * The application runs in the foreground: a shell would make a background process ignore SIGINT. It replaces its own
 * shell, since dash would write the exit status into its log.
 *
 * Only the application gets its variables, by `carriedEnv`: with LD_PRELOAD it could otherwise write to the result, or
 * start processes before the gate opens.
 */
const SHIM = `trap : TERM INT HUP
IFS= read -r BERTH_GATE || exit 125
exec </dev/null
{
  trap : TERM INT HUP
  ulimit -c 0; ulimit -n "$4"; ulimit -u "$5" || ulimit -p "$5"
  shift 5
  (
    exec 3>&-
    ${EXPORT_CARRIED}
    exec "$@" 2>&1
  )
  echo "exit $?" >&3
} 2>/dev/null | "$1" "$2" -i /bin/sh -c 'while ! "$0" 2>/dev/null; do sleep 1; done' "$3" 3>&-`;

const OPEN_FILES_MAX = 65_536; // Enough for a busy server, whatever limit the control plane was started with.

/** @param processesMax The kernel counts all processes of the user, so set it only for a user of one application. */
export const shimArgv = (command: Argv, processesMax: number | "unlimited"): Argv => [
  "/bin/sh",
  "-c",
  SHIM,
  "berth-release",
  systemProgram("setsid"),
  systemProgram("env"),
  systemProgram("cat"),
  String(OPEN_FILES_MAX),
  String(processesMax),
  ...command,
];

/** Command line of an artifact. A user's script is a single argument of the shell. */
export function commandOf(artifact: FolderArtifact, runtime: Runtime): Argv {
  const { run } = artifact;
  if (run.type === "shell") return ["/bin/sh", "-c", run.script];
  const root = resolve(artifact.workingFolder, run.root);
  return [runtime.node, ...SMALL_NODE, runtime.staticServer, root, run.isSpa ? "spa" : "site"];
}

/** The exit code that a shim has written, if any. The file may hold anything, of any size. */
export function readResult(path: string): number | undefined {
  if (!existsSync(path)) return undefined;
  const file = openSync(path, "r");
  try {
    const beginning = Buffer.alloc(RESULT_BYTES_MAX);
    const text = beginning.toString("latin1", 0, readSync(file, beginning));
    const [, code] = /^exit (\d{1,3})$/m.exec(text) ?? [];
    return code === undefined ? undefined : Number(code);
  } finally {
    closeSync(file);
  }
}

const RESULT_BYTES_MAX = 64;
