import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { join } from "node:path";
import { failureOf } from "../own-spawn.ts";
import { SMALL_NODE } from "../small-node.ts";
import { CHANNEL, PIPES } from "./messages.ts";
import { type PipeQueue, pipeQueue } from "./pipe-queue.ts";
import { type RemotePrograms, remotePrograms } from "./remote-programs.ts";

interface LauncherProcessOptions {
  readonly temporaryFolder: string;
  readonly nodePath: string;
  readonly idleSeconds: number;
  readonly pingSeconds?: number | undefined;
  /** Called when no further program may be started by this process. */
  onEnd(): void;
}

export interface LauncherProcess extends RemotePrograms {
  readonly pid: number;
}

/** Resolves when the process is ready. It inherits no variable, and learns what it starts by its channel alone. */
export async function openLauncher(options: LauncherProcessOptions): Promise<LauncherProcess> {
  // Only we can enter the folder.
  const folder = await mkdtemp(join(options.temporaryFolder, "berth-launcher-"));
  const pipes = pipeQueue();
  const listener = createServer(pipes.accept).unref();
  const end = () => {
    options.onEnd();
    listener.close();
    // The process does it too, since we may be the one that was killed.
    void rm(folder, { recursive: true, force: true }).catch(() => {});
  };
  try {
    const listening = Promise.withResolvers<void>();
    listener.on("error", listening.reject).listen(join(folder, PIPES), listening.resolve);
    await listening.promise;
    return await startIn(folder, pipes, { ...options, onEnd: end });
  } catch (cause) {
    end();
    throw cause;
  }
}

async function startIn(
  folder: string,
  pipes: PipeQueue,
  { nodePath, idleSeconds, pingSeconds, onEnd }: LauncherProcessOptions,
): Promise<LauncherProcess> {
  // In a session of its own: a terminal's Ctrl-C ends us in our own order.
  const child = spawn(nodePath, [...SMALL_NODE, MAIN, folder], {
    env: {},
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  // First: where no file can be opened, it has no streams either.
  if (child.pid === undefined) return await failureOf(child);
  const channel = child.stdio[CHANNEL];
  if (!(channel instanceof Socket)) throw new Error("Node gives the launcher no channel.");
  child.unref();
  const close = () => {
    onEnd();
    programs.close();
  };
  const programs = remotePrograms(channel, pipes, {
    ...{ pingSeconds, idleSeconds, onIdle: close },
    onSilence: () => child.kill("SIGKILL"),
  });
  channel.once("close", onEnd);
  const timer = setTimeout(() => channel.destroy(), START_SECONDS_MAX * 1000);
  try {
    await programs.ready;
  } catch (cause) {
    child.kill("SIGKILL");
    throw cause;
  } finally {
    clearTimeout(timer);
  }
  return { ...programs, pid: child.pid, close };
}

const isSource = import.meta.url.endsWith(".ts");
const MAIN = join(import.meta.dirname, isSource ? "launcher-main.ts" : "launcher-main.js");

const START_SECONDS_MAX = 20; // A hundred times the start time on an idle machine.
