import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import type { FolderArtifact } from "@berth/core/deploy";
import { type Argv, EXPORT_CARRIED, systemProgram } from "@berth/host";
import type { Runtime } from "./runtime.ts";

/**
 * Starts an application once its gate opens, and writes how it ended to file descriptor 3: so the exit code outlives
 * the control plane, and nothing starts that the control plane has not recorded before.
 *
 * Output goes through a pipe to a `cat` in a session of its own. The application may then open /dev/stdout without
 * cutting the log, what it writes while it is being stopped is not lost, and the log can be rotated while `cat` is held.
 * A full disk costs log lines, not the application: `cat` is started again. It gets no environment, since by its mark
 * there the application's processes are told from it.
 *
 * The application runs in the foreground: in the background a shell would make it ignore SIGINT. A shell of its own is
 * replaced by it, or dash would write into its log how it ended.
 *
 * Its variables are given to it alone, by `carriedEnv`: by LD_PRELOAD it would get at the result, or start processes before
 * the gate opens.
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

const OPEN_FILES_MAX = 65_536; // Plenty for a busy server, whatever the limit of what started the control plane.

/** @param processesMax Counted over all processes of the user, so only for one that is the application's alone. */
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

/** The command of an artifact. A user's script is one argument of the shell of its own user. */
export function commandOf(artifact: FolderArtifact, runtime: Runtime): Argv {
  const { run } = artifact;
  if (run.type === "shell") return ["/bin/sh", "-c", run.script];
  const root = resolve(artifact.workingFolder, run.root);
  return [runtime.node, ...SMALL_NODE, runtime.staticServer, root, run.isSpa ? "spa" : "site"];
}

/** The exit code that a shim has written, when it has. The file may hold anything, and as much as the disk can take. */
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

// A file server keeps next to nothing in memory.
const SMALL_NODE = ["--max-semi-space-size=1", "--max-old-space-size=64"];
