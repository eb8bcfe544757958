import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { DatabaseCommand } from "@berth/core/database";
import type { Terminal, TerminalSize } from "@berth/core/ports";
import { statusCodeOf } from "@berth/docker-client";
import { terminalOutput, writeTo } from "@berth/host";
import type Docker from "dockerode";
import { variablesOf } from "./command.ts";
import { brokenOff, createExec, endLaunched, endWhenBack, exitCodeOf, type Launched, PID_LENGTH_MAX } from "./exec.ts";

/**
 * Prints its process id, then becomes the program. For a program with a private file it stays, to remove the file:
 * Ctrl-C reaches both, and must end the program alone.
 */
const LAUNCHER = `echo "$$"
path=$BERTH_FILE_PATH
if [ -z "$path" ]; then exec "$@"; fi
(umask 077 && rm -f -- "$path" && printf %s "$BERTH_FILE_TEXT" >"$path") || exit 125
unset BERTH_FILE_PATH BERTH_FILE_TEXT
trap : INT QUIT
"$@"; code=$?
rm -f -- "$path"
exit "$code"`;

/** The best shell of the image. */
const SHELL: DatabaseCommand = {
  argv: ["/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec /bin/sh"],
  variables: {},
};

/** A program in a terminal in a container, as the container's user. */
export async function terminalIn(
  docker: Docker,
  containerId: string,
  { size, command = SHELL }: { readonly size: TerminalSize; readonly command?: DatabaseCommand | undefined },
): Promise<Terminal> {
  const launched = await createExec(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", ...command.argv],
    Env: ["TERM=xterm-256color", ...variablesOf(command)],
    Tty: true,
    AttachStdin: true,
  });
  const stream = await started(launched);
  const { pid, first } = await begun(stream);
  const resize = async ({ columns: w, rows: h }: TerminalSize) => {
    // The shell may have just ended, which the reader of the output learns.
    await launched.exec.resize({ w, h }).catch((cause: unknown) => {
      if (statusCodeOf(cause) === undefined) throw cause;
    });
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    // Without the program's end the engine would keep it running after the connection has closed.
    const options = { isHangUp: true, path: command.file?.path };
    await endLaunched(launched, pid, options).catch(() => void endWhenBack(launched, pid, options));
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
    async exitCode() {
      try {
        return await exitCodeOf(launched.exec);
      } catch (cause) {
        // Its container was removed, and the engine's record of the program with it.
        if (statusCodeOf(cause) === 404) return null;
        throw cause;
      }
    },
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

/** Reads the launcher's first line: the process id by which the shell is ended. */
async function begun(stream: Duplex): Promise<{ readonly pid: number; readonly first: Buffer }> {
  const late = new AbortController();
  let head = Buffer.alloc(0);
  const read = async () => {
    while (!head.includes("\n") && head.length <= PID_LENGTH_MAX) {
      const chunk: Buffer | null = stream.read();
      if (chunk !== null) head = Buffer.concat([head, chunk]);
      else if (!(await nextReadable(stream, late.signal))) return;
    }
  };
  await Promise.race([read(), delay(BEGIN_MS, undefined, { signal: late.signal, ref: false }).catch(() => undefined)]);
  late.abort();
  const line = /^(\d+)\r?\n/.exec(head.toString("latin1"));
  if (line === null) {
    stream.destroy();
    throw noShell(head.toString("utf8"));
  }
  return { pid: Number(line[1]), first: head.subarray(line[0].length) };
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
