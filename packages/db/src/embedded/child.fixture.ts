import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("server.fixture.ts", import.meta.url));

export interface ServerChild {
  readonly process: ChildProcess;
  readonly lines: readonly string[];
  /** Resolves with the first line with this beginning; rejects if the process ends without one. */
  line(beginning: string): Promise<string>;
  /** Kills it and waits until it has ended. */
  kill(): Promise<void>;
  readonly ended: Promise<void>;
}

/** A server in a process of its own; with `uid` as another user, which only root can do. */
export function startChild(
  folder: string,
  task: "open" | "write" | "close",
  options: { readonly uid?: number; readonly embedded?: "postgres" | "pglite" } = {},
): ServerChild {
  const { uid, embedded } = options;
  const child = spawn(process.execPath, [SCRIPT, folder, task, ...(embedded === undefined ? [] : [embedded])], {
    ...(uid === undefined ? {} : { uid, gid: uid }),
    stdio: ["ignore", "pipe", "inherit"],
    cwd: "/",
    env: { PATH: process.env.PATH, HOME: "/nonexistent" },
  });
  const lines: string[] = [];
  let rest = "";
  const listeners = new Set<() => void>();
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    for (const listener of listeners) listener();
  });
  const ended = once(child, "close").then(() => {
    for (const listener of listeners) listener();
  });
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  return {
    process: child,
    lines,
    ended,
    line: (beginning) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = lines.find((line) => line.startsWith(beginning));
          if (found !== undefined) resolve(found);
          else if (hasEnded || child.exitCode !== null) reject(new Error(`It ended with: ${lines.join(" | ")}`));
        };
        listeners.add(look);
        void ended.then(look);
        look();
      }),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
