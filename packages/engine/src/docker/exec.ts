import { finished } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { ExecResult } from "@berth/core/ports";
import { readFrames, statusCodeOf } from "@berth/docker-client";
import { splitLines } from "@berth/host";
import type Docker from "dockerode";

export interface ExecOptions {
  readonly timeoutSeconds: number;
  readonly signal?: AbortSignal;
  readonly maxOutputBytes?: number;
  readonly onLine?: (line: string) => void;
}

/** Tells its process id, then becomes the script's shell. The script is one argument and never read by this line. */
const LAUNCHER = 'echo "$$" && exec /bin/sh -c "$1"';
/** The shell of an exec leads a process group of its own. */
const KILLER = `if [ -z "$3" ]; then kill -KILL "-$1" || kill -KILL "$1"
elif ! kill -0 "$1"; then kill -KILL "-$1"; fi
if [ -n "$2" ]; then rm -f -- "$2"; fi`;

/**
 * Runs a script in a container by its own shell, as its user.
 * @throws DomainError `resource.not_running`, `deploy.cancelled`
 */
export async function executeIn(
  docker: Docker,
  containerId: string,
  script: string,
  { timeoutSeconds, signal, maxOutputBytes = OUTPUT_BYTES_MAX, onLine }: ExecOptions,
): Promise<ExecResult> {
  if (signal?.aborted) throw cancelled();
  const launched = await prepared(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", script],
  });
  const { exec } = launched;
  const stream = await exec.start({ hijack: false, stdin: false });
  const output = outputOf(maxOutputBytes, onLine);
  const read = output.take(stream);
  // The script may not have begun yet: it must not begin after it was told to end.
  const begun = () =>
    Promise.race([output.pid, read.then(() => undefined), delay(BEGIN_MS, undefined, { ref: false })]);
  try {
    const end = await firstEnd(exec, read, { timeoutSeconds, signal });
    if (end === "exited") {
      await output.settled(read);
      return { ...output.kept(), exitCode: await exitCodeOf(exec) };
    }
    await endLaunched(launched, await begun());
    await Promise.race([read, delay(LAST_WORDS_MS, undefined, { ref: false })]);
    if (end === "aborted") throw cancelled();
    return { ...output.kept(), exitCode: 124 };
  } catch (cause) {
    if (!isOutOfReach(cause)) throw cause;
    const pid = begun().catch(() => undefined);
    void pid.then((known) => endWhenBack(launched, known));
    throw isDomainError(cause) ? cause : brokenOff(cause);
  } finally {
    stream.destroy();
  }
}

/** An engine that answers, whatever it says, is not. */
export const isOutOfReach = (cause: unknown): boolean =>
  isDomainError(cause)
    ? isDomainError(cause, "engine.unreachable", "server.unreachable")
    : cause instanceof Error && statusCodeOf(cause) === undefined;

/** The connection, of which the program itself knows nothing. */
export const brokenOff = (cause?: unknown): DomainError =>
  new DomainError("engine.unreachable", "The connection to the program broke off before its end.", { cause });

/** A program in a container. */
export interface Launched {
  readonly container: Docker.Container;
  readonly exec: Docker.Exec;
  /** The container. Once it was started anew, process ids are others'; `undefined` when that cannot be known. */
  readonly startedAt: Promise<string | undefined>;
}

/** @throws DomainError `resource.not_running` */
export async function prepared(container: Docker.Container, options: Docker.ExecCreateOptions): Promise<Launched> {
  const startedAt = startOf(container).catch(() => undefined);
  try {
    const exec = await container.exec({ ...options, AttachStdout: true, AttachStderr: true });
    return { container, exec, startedAt };
  } catch (cause) {
    const code = statusCodeOf(cause);
    if (code !== 404 && code !== 409) throw cause;
    throw new DomainError("resource.not_running", "Its container is not running. Start it first.", { cause });
  }
}

const startOf = async (container: Docker.Container) => (await container.inspect()).State.StartedAt;

/** A background process may keep the output open after the script has ended. */
async function firstEnd(
  exec: Docker.Exec,
  read: Promise<void>,
  { timeoutSeconds, signal }: { readonly timeoutSeconds: number; readonly signal: AbortSignal | undefined },
): Promise<"exited" | "timeout" | "aborted"> {
  const done = new AbortController();
  const stop = AbortSignal.any([done.signal, ...(signal === undefined ? [] : [signal])]);
  const timeout = delay(Math.min(timeoutSeconds * 1000, TIMER_MS_MAX), "timeout" as const, { signal: stop });
  const ended = read.then(() => "exited" as const);
  try {
    return await Promise.race([ended, timeout, watch(exec, stop)]);
  } catch (cause) {
    if (signal?.aborted) return "aborted";
    throw cause;
  } finally {
    timeout.catch(() => undefined);
    done.abort();
  }
}

async function watch(exec: Docker.Exec, signal: AbortSignal): Promise<"exited"> {
  for (;;) {
    await delay(WATCH_MS, undefined, { signal });
    if (!(await exec.inspect()).Running) return "exited";
  }
}

export async function exitCodeOf(exec: Docker.Exec): Promise<number> {
  for (let attempt = 0; ; attempt++) {
    const { Running, ExitCode } = await exec.inspect();
    if (!Running && ExitCode !== null) return ExitCode;
    // An engine does not end the output of a program that still runs.
    if (attempt > SETTLE_ATTEMPTS) throw brokenOff();
    await delay(SETTLE_MS);
  }
}

/**
 * Ends what runs in the container, not only the wait for it, and nothing of anybody else.
 * @param path Of a file that goes with it.
 */
export async function endLaunched(launched: Launched, pid: number | undefined, path = ""): Promise<void> {
  const { container, exec, startedAt } = launched;
  if (pid === undefined) return;
  try {
    // Newer engines end the shell when nobody listens any more, and nothing that it has started. While something of
    // its group continues, no other process gets its number: one that has it then is another's.
    const hasEnded = await hasExited(exec);
    if ((await startOf(container)) !== (await startedAt)) return;
    const killer = await container.exec({
      Cmd: ["/bin/sh", "-c", KILLER, "sh", String(pid), path, hasEnded ? "ended" : ""],
      AttachStdout: true,
    });
    const stream = await killer.start({ hijack: false, stdin: false });
    const ended = finished(stream.resume()).finally(() => stream.destroy());
    // A shell of an image's own making may do anything but kill.
    await Promise.race([ended, delay(KILL_MS_MAX, undefined, { ref: false })]);
    stream.destroy();
  } catch (cause) {
    // It ended with its container.
    if (statusCodeOf(cause) === undefined) throw cause;
  }
}

async function hasExited(exec: Docker.Exec): Promise<boolean> {
  try {
    return !(await exec.inspect()).Running;
  } catch (cause) {
    // An engine forgets those that have ended a few minutes ago.
    if (statusCodeOf(cause) === 404) return true;
    throw cause;
  }
}

/**
 * Ends what still runs in a container that cannot be reached, as soon as it can be again: nobody reads its output.
 * Never rejects; nobody waits for it.
 */
export async function endWhenBack(launched: Launched, pid: number | undefined, path?: string): Promise<void> {
  const endMs = performance.now() + BACK_MS_MAX;
  for (let waitMs = BACK_MS; performance.now() < endMs; waitMs = Math.min(waitMs * 2, BACK_MS * 10)) {
    try {
      return await endLaunched(launched, pid, path);
    } catch (cause) {
      if (!isOutOfReach(cause)) return;
      await delay(waitMs, undefined, { ref: false });
    }
  }
}

/** Collects the beginning of what is written; the first line is the launcher's. */
function outputOf(bytesMax: number, onLine: (line: string) => void = () => undefined) {
  const lines = splitLines(onLine);
  const kept: Buffer[] = [];
  let length = 0;
  let head = Buffer.alloc(0);
  let isTruncated = false;
  let isHeaded = false;
  let readAtMs = 0;
  const { promise: pid, resolve: resolvePid } = Promise.withResolvers<number | undefined>();

  const keep = (bytes: Buffer) => {
    const room = bytesMax - length;
    if (bytes.length > room) isTruncated = true;
    const part = Buffer.from(bytes.subarray(0, Math.max(room, 0)));
    length += part.length;
    kept.push(part);
    lines.write(bytes);
  };
  const takeHead = (bytes: Buffer) => {
    head = Buffer.concat([head, bytes]);
    const end = head.indexOf("\n");
    if (end === -1 && head.length <= PID_LENGTH_MAX) return;
    const text = head.toString("latin1", 0, Math.max(end, 0));
    // A shell that cannot be started says so instead, and one of an image's own making says anything.
    const isPid = /^\d+$/.test(text);
    resolvePid(isPid ? Number(text) : undefined);
    keep(isPid ? head.subarray(end + 1) : head);
    head = Buffer.alloc(0);
    isHeaded = true;
  };

  return {
    /** Process id of the script's shell; `undefined` without one. */
    pid,
    kept: () => {
      // Cut characters are left out.
      const text = Buffer.concat([...kept, ...(isHeaded ? [] : [head])]).toString("utf8");
      return { output: isTruncated ? text.replace(/\uFFFD$/, "") : text, isTruncated };
    },
    /** Waits briefly for output that is still in transit, since a background process may keep the stream open forever. */
    async settled(read: Promise<void>): Promise<void> {
      const endMs = performance.now() + LATE_MS_MAX;
      const isRead = read.then(() => true);
      readAtMs = performance.now();
      while (!(await Promise.race([isRead, delay(LATE_MS, false, { ref: false })]))) {
        if (performance.now() - readAtMs >= LATE_MS) return;
        isTruncated ||= performance.now() > endMs;
        if (isTruncated) return;
      }
    },
    async take(stream: AsyncIterable<Uint8Array | string>): Promise<void> {
      try {
        for await (const { stream: from, bytes } of readFrames(stream)) {
          readAtMs = performance.now();
          if (isHeaded || from === "stderr") keep(bytes);
          else takeHead(bytes);
        }
      } catch (cause) {
        // Destroyed by us once its end was known.
        if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE")) throw cause;
      }
      lines.end();
    },
  };
}

export const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");

const OUTPUT_BYTES_MAX = 1 << 20;
/** Digits of the longest process id of any system. */
export const PID_LENGTH_MAX = 20;
const BEGIN_MS = 5000;
const KILL_MS_MAX = 5000;
const BACK_MS = 500;
const BACK_MS_MAX = 3_600_000; // Who is away for longer has been started anew, as a rule.
const LATE_MS = 1000;
const LATE_MS_MAX = 30_000;
const LAST_WORDS_MS = 2000;
const WATCH_MS = 1000;
const SETTLE_MS = 20;
const SETTLE_ATTEMPTS = 100;
const TIMER_MS_MAX = 2 ** 31 - 1;
