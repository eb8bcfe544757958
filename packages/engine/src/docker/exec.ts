import type { Duplex } from "node:stream";
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

/**
 * Prints its process id, then becomes the script's shell. The script is an argument that this line never interprets.
 */
const LAUNCHER = 'echo "$$" && exec /bin/sh -c "$1"';
/**
 * The shell of an exec leads a process group of its own. One with a terminal leads a session, in which each job has a
 * process group. The number of a shell that has ended is not given away as long as its session has processes: if a
 * process has it, nothing is left of the session.
 */
const KILLER = `if [ -n "$4" ]; then
  if [ -z "$3" ]; then
    kill -HUP "$1"; n=10
    while [ "$n" -gt 0 ] && kill -0 "$1"; do sleep 0.1 || sleep 1; n=$((n-1)); done
  elif kill -0 "$1"; then exit 0; fi
  for stat in /proc/[0-9]*/stat; do
    IFS= read -r line <"$stat" || continue
    session=\${line##*) ? }; session=\${session#* }; session=\${session#* }; session=\${session%% *}
    if [ "$session" = "$1" ]; then id=\${stat#/proc/}; kill -KILL "\${id%/stat}"; fi
  done
elif [ -z "$3" ]; then kill -KILL "-$1" || kill -KILL "$1"
elif ! kill -0 "$1"; then kill -KILL "-$1"; fi
if [ -n "$2" ]; then rm -f -- "$2"; fi`;

/**
 * Runs a script in a container with the container's shell, as its user.
 * @throws DomainError `resource.not_running`, `deploy.cancelled`
 */
export async function executeIn(
  docker: Docker,
  containerId: string,
  script: string,
  { timeoutSeconds, signal, maxOutputBytes = OUTPUT_BYTES_MAX, onLine }: ExecOptions,
): Promise<ExecResult> {
  if (signal?.aborted) throw cancelled();
  const launched = await createExec(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", script],
  });
  const { exec } = launched;
  const stream = await startExec(launched, { hijack: false, stdin: false });
  const output = outputOf(maxOutputBytes, onLine);
  const read = output.take(stream);
  // The script may not have started yet, and must not start after it was told to end.
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

/** Whether the engine did not answer; an error with a status is an answer. */
export const isOutOfReach = (cause: unknown): boolean =>
  isDomainError(cause)
    ? isDomainError(cause, "engine.unreachable", "server.unreachable")
    : cause instanceof Error && statusCodeOf(cause) === undefined;

/** Only the connection broke; the program itself may continue. */
export const brokenOff = (cause?: unknown): DomainError =>
  new DomainError("engine.unreachable", "The connection to the program was lost before it ended.", { cause });

/** A program in a container. */
export interface Launched {
  readonly container: Docker.Container;
  readonly exec: Docker.Exec;
  /** When the container was started: after a restart its process ids belong to others. `undefined` when unknown. */
  readonly startedAt: Promise<string | undefined>;
}

/** @throws DomainError `resource.not_running` */
export async function createExec(container: Docker.Container, options: Docker.ExecCreateOptions): Promise<Launched> {
  const startedAt = startOf(container).catch(() => undefined);
  const exec = await whileRunning(container.exec({ ...options, AttachStdout: true, AttachStderr: true }));
  return { container, exec, startedAt };
}

/** The container may have stopped since the exec was created. @throws DomainError `resource.not_running` */
export const startExec = ({ exec }: Pick<Launched, "exec">, options: Docker.ExecStartOptions): Promise<Duplex> =>
  whileRunning(exec.start(options));

async function whileRunning<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
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
    // Its output has ended, so it cannot still run: the connection broke instead.
    if (attempt > SETTLE_ATTEMPTS) throw brokenOff();
    await delay(SETTLE_MS);
  }
}

export interface EndOptions {
  /** A private file of the command, which is deleted as well. */
  readonly path?: string | undefined;
  /** Tells an interactive shell to end its jobs first, which have process groups of their own. */
  readonly isHangUp?: boolean;
}

/**
 * Ends the processes in the container, and no others.
 */
export async function endLaunched(
  launched: Launched,
  pid: number | undefined,
  { path = "", isHangUp = false }: EndOptions = {},
): Promise<void> {
  const { container, exec, startedAt } = launched;
  if (pid === undefined) return;
  try {
    // Newer engines end the shell when the client disconnects, but not its children. As long as its process group
    // exists, the number is not reused; once the shell has ended, a process with this number is another one.
    const hasEnded = await hasExited(exec);
    if ((await startOf(container)) !== (await startedAt)) return;
    const killer = await container.exec({
      Cmd: ["/bin/sh", "-c", KILLER, "sh", String(pid), path, hasEnded ? "ended" : "", isHangUp ? "hup" : ""],
      AttachStdout: true,
    });
    const stream = await killer.start({ hijack: false, stdin: false });
    const ended = finished(stream.resume()).finally(() => stream.destroy());
    // An image may contain a shell that does not kill but hangs.
    await Promise.race([ended, delay(KILL_MS_MAX, undefined, { ref: false })]);
    stream.destroy();
  } catch (cause) {
    // The container stopped, and the processes with it.
    if (statusCodeOf(cause) === undefined) throw cause;
  }
}

async function hasExited(exec: Docker.Exec): Promise<boolean> {
  try {
    return !(await exec.inspect()).Running;
  } catch (cause) {
    // Engines forget an exec some minutes after it ended.
    if (statusCodeOf(cause) === 404) return true;
    throw cause;
  }
}

/** Ends processes in an unreachable container once it is reachable again. Runs in the background and never rejects. */
export async function endWhenBack(
  launched: Launched,
  pid: number | undefined,
  options: EndOptions = {},
): Promise<void> {
  const endMs = performance.now() + BACK_MS_MAX;
  for (let waitMs = BACK_MS; performance.now() < endMs; waitMs = Math.min(waitMs * 2, BACK_MS * 10)) {
    try {
      return await endLaunched(launched, pid, options);
    } catch (cause) {
      if (!isOutOfReach(cause)) return;
      await delay(waitMs, undefined, { ref: false });
    }
  }
}

/** Collects output up to a limit; the first line is the launcher's process id. */
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
    // The first line may be an error, if the shell does not start or does not behave like one.
    const isPid = /^\d+$/.test(text);
    resolvePid(isPid ? Number(text) : undefined);
    keep(isPid ? head.subarray(end + 1) : head);
    head = Buffer.alloc(0);
    isHeaded = true;
  };

  return {
    /** Process id of the script's shell; `undefined` if it did not start. */
    pid,
    kept: () => {
      // Characters that were cut in the middle are left out.
      const text = Buffer.concat([...kept, ...(isHeaded ? [] : [head])]).toString("utf8");
      return { output: isTruncated ? text.replace(/\uFFFD$/, "") : text, isTruncated };
    },
    /**
     * Waits briefly for output in transit, but not for its end: background processes may keep the stream open forever.
     */
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
        // We destroyed the stream after the program had ended.
        if (!(cause instanceof Error && "code" in cause && cause.code === "ERR_STREAM_PREMATURE_CLOSE")) throw cause;
      }
      lines.end();
    },
  };
}

export const cancelled = () => new DomainError("deploy.cancelled", "The work was cancelled.");

const OUTPUT_BYTES_MAX = 1 << 20;
/** Most digits that a process id can have. */
export const PID_LENGTH_MAX = 20;
const BEGIN_MS = 5000;
const KILL_MS_MAX = 5000;
const BACK_MS = 500;
const BACK_MS_MAX = 3_600_000; // After such a long time the server has usually been restarted, with all containers.
const LATE_MS = 1000;
const LATE_MS_MAX = 30_000;
const LAST_WORDS_MS = 2000;
const WATCH_MS = 1000;
const SETTLE_MS = 20;
const SETTLE_ATTEMPTS = 100;
const TIMER_MS_MAX = 2 ** 31 - 1;
