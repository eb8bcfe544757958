import { basename } from "node:path";
import { commandLine, type ProcessStat, processStat } from "@berth/host";

const NEXT_ROUND_MS = 200; // Time for shells and package managers to exit after their children have exited.

/**
 * Makes a function that ends a release's processes as their authors expect: one SIGTERM to the application's main
 * process, as in a container. Many servers forward it to their workers, and many exit at once on a second one, so
 * signalling all processes would interrupt requests in progress.
 *
 * Shells and package managers are not main processes: their children are signalled, and they exit with the child's
 * exit code. When all signalled processes have exited and others still run, those are signalled. Call it repeatedly
 * until no process runs.
 *
 * @param members Living processes of the release.
 * @param shimPid Leader of its process group: it and the shell below it exit by themselves.
 */
export function askInOrder(members: () => readonly ProcessStat[], shimPid: number | undefined): () => void {
  const asked = new Set<string>();
  let livedAt = Number.NEGATIVE_INFINITY;
  const isShim = (stat: ProcessStat) =>
    shimPid !== undefined && (stat.pid === shimPid || (stat.parentPid === shimPid && isShell(stat)));

  return () => {
    const living = members().filter((stat) => !isShim(stat));
    if (living.some((stat) => asked.has(keyOf(stat)))) {
      livedAt = Date.now();
      return;
    }
    if (Date.now() - livedAt < NEXT_ROUND_MS) return;
    const pids = new Set(living.map((stat) => stat.pid));
    const tops = living.filter((stat) => !pids.has(stat.parentPid));
    const isFirst = asked.size === 0;
    for (const stat of isFirst ? tops.flatMap((top) => mainProcesses(top, living)) : living) {
      asked.add(keyOf(stat));
      terminate(stat.pid);
    }
    // It may exit before the next call sees it.
    livedAt = Date.now();
  };
}

function mainProcesses(stat: ProcessStat, living: readonly ProcessStat[]): ProcessStat[] {
  const children = living.filter((child) => child.parentPid === stat.pid);
  if (children.length === 0 || !(isShell(stat) || isPackageManager(stat))) return [stat];
  return children.flatMap((child) => mainProcesses(child, living));
}

const isShell = ({ name }: ProcessStat) => /^(sh|dash|bash|ash|busybox|zsh)$/.test(name);

/** npm and yarn run in node and may have replaced their arguments by a title. */
function isPackageManager({ pid }: ProcessStat): boolean {
  const [program = "", script = ""] = commandLine(pid);
  const name = basename(basename(program) === "node" ? script : program);
  return /^(npm|npx|pnpm|pnpx|yarn|yarnpkg)((-cli)?\.[cm]?js)?( |$)/.test(name);
}

const keyOf = ({ pid, startTime }: ProcessStat) => `${pid}/${startTime}`;

function terminate(pid: number): void {
  // It has exited since it was listed, or its program changed its user.
  if (processStat(pid) === undefined) return;
  try {
    process.kill(pid, "SIGTERM");
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && (cause.code === "ESRCH" || cause.code === "EPERM"))) throw cause;
  }
}
