import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { Terminal, TerminalSize } from "@berth/core/ports";
import { statusCodeOf } from "@berth/docker-client";
import { terminalOutput, writeTo } from "@berth/host";
import type Docker from "dockerode";
import { brokenOff, createExec, endLaunched, endWhenBack, type Launched, PID_LENGTH_MAX } from "./exec.ts";

/** Prints its process id, then becomes the best shell of the image. */
const LAUNCHER = 'echo "$$"; command -v bash >/dev/null 2>&1 && exec bash; exec /bin/sh';

/** The shell of a container in a terminal, as the container's user. */
export async function terminalIn(
  docker: Docker,
  containerId: string,
  size: TerminalSize,
  beginMs = BEGIN_MS,
): Promise<Terminal> {
  const launched = await createExec(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER],
    Env: ["TERM=xterm-256color"],
    Tty: true,
    AttachStdin: true,
  });
  const stream = await started(launched);
  const { pid, first } = await begun(launched, stream, beginMs);
  const resize = async ({ columns: w, rows: h }: TerminalSize) => {
    // The shell may have just ended, which the reader of the output learns.
    await launched.exec.resize({ w, h }).catch((cause: unknown) => {
      if (statusCodeOf(cause) === undefined) throw cause;
    });
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    // Without the shell's end the engine would keep it running after the connection has closed.
    await endLaunched(launched, pid, { isHangUp: true }).catch(
      () => void endWhenBack(launched, pid, { isHangUp: true }),
    );
    stream.destroy();
  };
  const rest = terminalOutput(stream, (cause) => {
    if (cause !== undefined && closing === undefined) throw brokenOff(cause);
  });
  try {
    await resize(size);
  } catch (cause) {
    // The caller gets no terminal to close.
    closing = close();
    await closing;
    throw cause;
  }
  return {
    output: (async function* () {
      if (first.length > 0) yield first;
      yield* rest;
    })(),
    write: (input) => writeTo(stream, input),
    resize,
    close: () => (closing ??= close()),
  };
}

async function started({ exec }: Launched): Promise<Duplex> {
  try {
    return await exec.start({ hijack: true, stdin: true, Tty: true });
  } catch (cause) {
    if (statusCodeOf(cause) === undefined) throw cause;
    throw noShell(cause);
  }
}

interface Begun {
  readonly pid: number;
  /** Output after the first line. */
  readonly first: Buffer;
}

async function begun(launched: Launched, stream: Duplex, beginMs: number): Promise<Begun> {
  const given = new AbortController();
  const reading = readPid(stream, given.signal);
  const isLate = delay(beginMs, "late" as const, { ref: false });
  const found = await Promise.race([reading, isLate]);
  if (typeof found === "object") return found;
  if (found === "late") {
    // Otherwise a shell that starts later would run without anybody to end it.
    setTimeout(() => given.abort(), LATE_MS_MAX).unref();
    void reading.then((late) => endLate(launched, late)).finally(() => stream.destroy());
    throw noShell(`No shell started within ${beginMs} ms.`);
  }
  stream.destroy();
  throw noShell("Its first line is not a process id.");
}

async function endLate(launched: Launched, late: Begun | undefined): Promise<void> {
  await endLaunched(launched, late?.pid, { isHangUp: true }).catch(() =>
    endWhenBack(launched, late?.pid, { isHangUp: true }),
  );
}

/** Reads the launcher's first line: the process id by which the shell is ended. `undefined`: there is none. */
async function readPid(stream: Duplex, signal: AbortSignal): Promise<Begun | undefined> {
  let head = Buffer.alloc(0);
  while (!head.includes("\n") && head.length <= PID_LENGTH_MAX) {
    const chunk: Buffer | null = stream.read();
    if (chunk !== null) head = Buffer.concat([head, chunk]);
    else if (!(await nextReadable(stream, signal))) break;
  }
  const line = /^(\d+)\r?\n/.exec(head.toString("latin1"));
  return line === null ? undefined : { pid: Number(line[1]), first: head.subarray(line[0].length) };
}

/** @returns Whether the stream has not ended. */
const nextReadable = (stream: Duplex, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const done = (isReadable: boolean) => () => {
      for (const [name, listener] of listeners) stream.off(name, listener);
      signal.removeEventListener("abort", ended);
      resolve(isReadable);
    };
    const ended = done(false);
    const listeners: readonly (readonly [string, () => void])[] = [
      ["readable", done(true)],
      ["end", ended],
      ["close", ended],
      ["error", ended],
    ];
    for (const [name, listener] of listeners) stream.on(name, listener);
    signal.addEventListener("abort", ended, { once: true });
  });

const noShell = (cause: unknown) =>
  new DomainError("engine.unsupported", "No shell starts in this container: its image needs a working /bin/sh.", {
    cause,
  });

const BEGIN_MS = 10_000;
const LATE_MS_MAX = 3_600_000; // Longer than any machine swaps before it starts a shell.
