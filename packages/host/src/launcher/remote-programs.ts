import type { Socket } from "node:net";
import { DomainError } from "@berth/core";
import { signalGroup } from "../group.ts";
import type { Program, ProgramRequest } from "../program.ts";
import { turns } from "../turns.ts";
import { liveness } from "./liveness.ts";
import { errorOf, frameOf, frameReader, type Report } from "./messages.ts";
import type { PipeQueue } from "./pipe-queue.ts";

/** Programs that another process starts for us. */
export interface RemotePrograms {
  /** Resolves when that process can start programs. */
  readonly ready: Promise<void>;
  start(request: ProgramRequest): Promise<Program>;
  /** Ends that process; programs that it has started continue. */
  close(): void;
}

/** The program was not started, so it can be started by other means. */
export class NotStarted extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause });
  }
}

/** What is reported of a program. */
interface Watched {
  readonly started: PromiseWithResolvers<number>;
  readonly joined: PromiseWithResolvers<void>;
  readonly exited: PromiseWithResolvers<number>;
}

interface RemoteOptions {
  /** Between questions whether that process still answers, while a program is waited for. Default 10. */
  readonly pingSeconds?: number | undefined;
  /** Longest time until the pipes of a program that runs are connected. Default 20. */
  readonly pipeSecondsMax?: number;
  readonly idleSeconds: number;
  /** Called after this time without a program that somebody waits for. */
  onIdle(): void;
  /** Called when that process no longer answers; it is given up. */
  onSilence(): void;
}

export function remotePrograms(channel: Socket, pipes: PipeQueue, options: RemoteOptions): RemotePrograms {
  const { pingSeconds = 10, pipeSecondsMax = 20, idleSeconds, onIdle, onSilence } = options;
  const ready = Promise.withResolvers<void>();
  ready.promise.catch(() => {});
  const programs = new Map<number, Watched>();
  const starts = turns(STARTS_MAX);
  let lastId = 0;
  let held = 0;
  let idle: NodeJS.Timeout | undefined;

  const answers = liveness({
    intervalSeconds: pingSeconds,
    ask: () => channel.write(frameOf({ type: "ping" })),
    onSilence() {
      channel.destroy();
      onSilence();
    },
  });

  channel.on("error", () => {});
  channel.on("data", frameReader<Report>(accept));
  channel.once("close", () => {
    clearTimeout(idle);
    answers.stop();
    const cause = launcherEnded();
    pipes.close(cause);
    ready.reject(cause);
    for (const one of programs.values()) for (const { reject } of Object.values(one)) reject(cause);
  });

  function accept(report: Report): void {
    answers.heard();
    if (report.type === "pong") return;
    if (report.type === "ready") {
      channel.unref();
      ready.resolve();
      return;
    }
    const { started, joined, exited } = programs.get(report.id) ?? watched();
    if (report.type === "started") started.resolve(report.pid);
    if (report.type === "unconnected") started.reject(new NotStarted(errorOf(report.fault)));
    if (report.type === "failed") started.reject(errorOf(report.fault));
    if (report.type === "joined") joined.resolve();
    if (report.type === "outside") joined.reject(errorOf(report.fault));
    if (report.type === "exited") exited.resolve(report.exitCode);
  }

  /** While a program is held, both processes stay. @returns Ends that; idempotent. */
  function hold(): () => void {
    clearTimeout(idle);
    held += 1;
    answers.start();
    channel.ref();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      held -= 1;
      if (held > 0 || channel.destroyed) return;
      answers.stop();
      channel.unref();
      idle = setTimeout(onIdle, idleSeconds * 1000).unref();
    };
  }

  return {
    ready: ready.promise,
    async start(request) {
      lastId += 1;
      const id = lastId;
      const one = watched();
      programs.set(id, one);
      const release = hold();
      const ended = () => {
        programs.delete(id);
        release();
      };
      one.exited.promise.then(ended, ended);
      const tokens = request.stdio.map((kind) => (kind === "pipe" ? crypto.randomUUID() : undefined));
      const ends = tokens.map((token) => (token === undefined ? null : pipes.next(token)));
      try {
        const pid = await starts.take(async () => {
          if (channel.destroyed) throw new NotStarted(launcherEnded());
          channel.write(frameOf({ type: "start", id, request, tokens: tokens.filter((token) => token !== undefined) }));
          return one.started.promise;
        });
        const [stdin = null, stdout = null, stderr = null] = await connected(pid, ends, pipeSecondsMax);
        if (stdin !== null) endInput(stdin, one.exited.promise);
        return {
          ...{ pid, stdin, stdout, stderr },
          joined: one.joined.promise,
          exitCode: one.exited.promise,
          unref: release,
        };
      } catch (cause) {
        for (const token of tokens) if (token !== undefined) pipes.cancel(token, cause);
        for (const end of ends) end?.then((socket) => socket.destroy()).catch(() => {});
        one.exited.reject(cause);
        throw cause;
      }
    },
    close: () => void channel.end(),
  };
}

/**
 * Starts that are asked for at the same moment. A socket's queue of connections is full with some hundred, and a
 * request may need megabytes here and there.
 */
const STARTS_MAX = 8;

function watched(): Watched {
  const one: Watched = {
    started: Promise.withResolvers(),
    joined: Promise.withResolvers(),
    exited: Promise.withResolvers(),
  };
  // Not everybody waits for each of them.
  for (const { promise } of Object.values(one)) promise.catch(() => {});
  return one;
}

/**
 * They are connected before the program is started, and may only be lost where we can open no further file. Without
 * them the program is of no use.
 */
async function connected(
  pid: number,
  ends: readonly (Promise<Socket> | null)[],
  secondsMax: number,
): Promise<readonly (Socket | null)[]> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(pipesLost()), secondsMax * 1000);
  try {
    return await Promise.race([Promise.all(ends), late.promise]);
  } catch (cause) {
    signalGroup({ groupId: pid }, "SIGKILL");
    throw cause;
  } finally {
    clearTimeout(timer);
  }
}

/** As with Node's own pipes, what is left when the program exits is dropped, and nothing is read from its input. */
function endInput(stdin: Socket, exited: Promise<number>): void {
  const end = () => stdin.destroy();
  stdin.once("finish", end);
  exited.then(end, end);
}

const pipesLost = () =>
  new DomainError(
    "engine.failed",
    "Berth cannot open the input and output of a program. Raise its limit of open files.",
  );

const launcherEnded = () =>
  new DomainError(
    "engine.failed",
    "The process that starts programs ended unexpectedly, so nobody knows how the program ended. Try again.",
  );
