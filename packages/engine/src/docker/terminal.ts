import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import type { DatabaseCommand } from "@berth/core/database";
import type { Terminal } from "@berth/core/ports";
import type { TerminalSize } from "@berth/core/resource";
import { statusCodeOf } from "@berth/docker-client";
import { terminalOutput, writeTo } from "@berth/host";
import type Docker from "dockerode";
import { variablesOf } from "./command.ts";
import { brokenOff, createExec, endLaunched, endWhenBack, exitCodeOf, type Launched, PID_LENGTH_MAX } from "./exec.ts";

/**
 * Prints its process id, waits for a line, then becomes the program. The line is sent once the terminal has its size,
 * since engines before API 1.42 ignore the size that an exec is created with. For a program with a private file it
 * stays, to remove the file: Ctrl-C reaches both, and must end the program alone.
 */
const LAUNCHER = `echo "$$"
read -r line
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

interface TerminalOptions {
  readonly size: TerminalSize;
  /** Default: a shell. */
  readonly command?: DatabaseCommand | undefined;
  readonly beginMs?: number;
}

/** A program in a terminal in a container, as the container's user. */
export async function terminalIn(
  docker: Docker,
  containerId: string,
  { size, command = SHELL, beginMs = BEGIN_MS }: TerminalOptions,
): Promise<Terminal> {
  const own = withOwnFile(command);
  const launched = await createExec(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", ...own.argv],
    Env: ["TERM=xterm-256color", ...variablesOf(own)],
    Tty: true,
    AttachStdin: true,
  });
  const stream = await started(launched);
  const ending = { isHangUp: true, path: own.file?.path };
  const pid = await begun(launched, stream, { beginMs, ending });
  const resize = async ({ columns: w, rows: h }: TerminalSize) => {
    // The shell may have just ended, which the reader of the output learns.
    await launched.exec.resize({ w, h }).catch((cause: unknown) => {
      if (statusCodeOf(cause) === undefined) throw cause;
    });
  };
  let closing: Promise<void> | undefined;
  const close = async () => {
    // Without the program's end the engine would keep it running after the connection has closed.
    await endLaunched(launched, pid, ending).catch(() => void endWhenBack(launched, pid, ending));
    stream.destroy();
  };
  let first: Buffer;
  try {
    await resize(size);
    await writeTo(stream, Buffer.from("\n"));
    // The terminal's echo of that line.
    first = (await readLine(stream, AbortSignal.timeout(beginMs)))?.rest ?? Buffer.alloc(0);
  } catch (cause) {
    // The caller gets no terminal to close.
    closing = close();
    await closing;
    throw cause;
  }
  const output = terminalOutput(stream, (cause) => {
    if (cause !== undefined && closing === undefined) throw brokenOff(cause);
  });
  return {
    output: (async function* () {
      if (first.length > 0) yield first;
      yield* output;
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

/** Two terminals with one private file would remove each other's. */
function withOwnFile(command: DatabaseCommand): DatabaseCommand {
  const { argv, file } = command;
  if (file === undefined) return command;
  // Some clients tell the format of a file by its extension.
  const path = file.path.replace(/(\.\w+)?$/, `-${randomUUID()}$1`);
  const renamed = (argument: string) => argument.replaceAll(file.path, path);
  const [program, ...rest] = argv;
  return { ...command, argv: [program, ...rest.map(renamed)], file: { ...file, path } };
}

async function started({ exec }: Launched): Promise<Duplex> {
  try {
    return await exec.start({ hijack: true, stdin: true, Tty: true });
  } catch (cause) {
    if (statusCodeOf(cause) === undefined) throw cause;
    throw noShell(cause);
  }
}

interface Beginning {
  readonly beginMs: number;
  readonly ending: Parameters<typeof endLaunched>[2];
}

async function begun(launched: Launched, stream: Duplex, { beginMs, ending }: Beginning): Promise<number> {
  const given = new AbortController();
  const reading = readPid(stream, given.signal);
  const isLate = delay(beginMs, "late" as const, { ref: false });
  const found = await Promise.race([reading, isLate]);
  if (typeof found === "number") return found;
  if (found === "late") {
    // Otherwise a shell that starts later would run without anybody to end it.
    setTimeout(() => given.abort(), LATE_MS_MAX).unref();
    void reading.then((late) => endLate(launched, late, ending)).finally(() => stream.destroy());
    throw noShell(`No shell started within ${beginMs} ms.`);
  }
  stream.destroy();
  throw noShell("Its first line is not a process id.");
}

async function endLate(launched: Launched, pid: number | undefined, ending: Beginning["ending"]): Promise<void> {
  await endLaunched(launched, pid, ending).catch(() => endWhenBack(launched, pid, ending));
}

/** Reads the launcher's first line: the process id by which the shell is ended. `undefined`: there is none. */
async function readPid(stream: Duplex, signal: AbortSignal): Promise<number | undefined> {
  const { line = "" } = (await readLine(stream, signal)) ?? {};
  return /^\d+$/.test(line) ? Number(line) : undefined;
}

interface Line {
  readonly line: string;
  /** Output after it. */
  readonly rest: Buffer;
}

async function readLine(stream: Duplex, signal: AbortSignal): Promise<Line | undefined> {
  let head = Buffer.alloc(0);
  while (!head.includes("\n") && head.length <= PID_LENGTH_MAX) {
    const chunk: Buffer | null = stream.read();
    if (chunk !== null) head = Buffer.concat([head, chunk]);
    else if (!(await nextReadable(stream, signal))) break;
  }
  const end = head.indexOf("\n") + 1;
  if (end === 0) return head.length === 0 ? undefined : { line: "", rest: head };
  return { line: head.toString("latin1", 0, end).trim(), rest: head.subarray(end) };
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
