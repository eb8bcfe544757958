import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { isDomainError } from "@berth/core";
import type { DatabaseCommand } from "@berth/core/database";
import type { CommandIO, CommandResult } from "@berth/core/ports";
import { readFrames } from "@berth/docker-client";
import { splitLines } from "@berth/host";
import type Docker from "dockerode";
import {
  brokenOff,
  cancelled,
  createExec,
  endLaunched,
  endWhenBack,
  exitCodeOf,
  isOutOfReach,
  type Launched,
  PID_LENGTH_MAX,
  startExec,
} from "./exec.ts";

/**
 * Prints its process id, writes the command's private file, runs the program and marks the end of its output: without
 * the mark, a broken connection would look like a complete output.
 */
const LAUNCHER = `echo "$$" >&2
end=$1; shift
path=$BERTH_FILE_PATH
if [ -n "$path" ]; then (umask 077 && rm -f -- "$path" && printf %s "$BERTH_FILE_TEXT" >"$path") || exit 125; fi
unset BERTH_FILE_PATH BERTH_FILE_TEXT
"$@"; code=$?
if [ -n "$path" ]; then rm -f -- "$path"; fi
printf %s "$end"
exit "$code"`;

/** Runs a program in a container as the container's user, streaming its input and output. */
export async function commandIn(
  docker: Docker,
  containerId: string,
  command: DatabaseCommand,
  { signal, input, output = drain }: CommandIO,
): Promise<CommandResult> {
  if (signal.aborted) throw cancelled();
  const { argv, file } = command;
  const end = `berth-end-${randomBytes(12).toString("hex")}`;
  const launched = await createExec(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", end, ...argv],
    Env: variablesOf(command),
    AttachStdin: input !== undefined,
  });
  const { exec } = launched;
  const stream = await startExec(launched, { hijack: true, stdin: input !== undefined });
  const streams = streamsOf(stream, end);
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(cancelled());
  signal.addEventListener("abort", onAbort, { once: true });
  // The signal may have aborted before the listener was added.
  if (signal.aborted) onAbort();
  const read = output(streams.output).then(() => streams.rest());
  const fed = input === undefined ? Promise.resolve() : feed(stream, input);
  try {
    // When all output was read, the program has ended, even if it left input unread. A failed input rejects.
    await Promise.race([read, aborted.promise, fed.then(() => read)]);
  } catch (cause) {
    await kill(launched, streams.findPid(), file?.path);
    throw cause;
  } finally {
    signal.removeEventListener("abort", onAbort);
    for (const one of [read, fed, aborted.promise]) one.catch(() => undefined);
    stream.destroy();
  }
  const exitCode = await exitCodeOf(exec).catch(async (cause: unknown) => {
    await kill(launched, streams.findPid(), file?.path);
    throw cause;
  });
  if (exitCode === 0 && !streams.isComplete()) throw brokenOff();
  return { exitCode, errors: streams.errors() };
}

/**
 * Unlike arguments, variables show neither in process lists nor in the engine's description of the exec. The launcher
 * writes the private file, and removes its variables.
 */
export function variablesOf({ variables, file }: DatabaseCommand): string[] {
  const all = { ...variables, ...(file && { BERTH_FILE_PATH: file.path, BERTH_FILE_TEXT: file.text }) };
  return Object.entries(all).map(([name, value]) => `${name}=${value}`);
}

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}

/** The program may end without reading all of its input; only errors of the input itself are thrown. */
async function feed(stream: Duplex, input: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = once(stream, "close").catch(() => undefined);
  stream.on("error", () => undefined);
  for await (const chunk of input) {
    if (stream.destroyed || stream.writableEnded) return;
    if (!stream.write(chunk)) await Promise.race([once(stream, "drain").catch(() => undefined), closed]);
  }
  if (!stream.destroyed) stream.end();
}

/** The program may not have started yet, and must not start afterwards. */
async function kill(launched: Launched, pid: Promise<number | undefined>, path?: string): Promise<void> {
  const begun = await Promise.race([pid.catch(() => undefined), delay(BEGIN_MS, undefined, { ref: false })]);
  try {
    await endLaunched(launched, begun, { path });
  } catch {
    // The original reason matters more than this failure.
    void endWhenBack(launched, begun, { path });
  }
}

function streamsOf(stream: AsyncIterable<Uint8Array | string>, end: string) {
  const lines: string[] = [];
  const splitter = splitLines((line) => {
    lines.push(line);
    if (lines.length > LINES_MAX) lines.shift();
  });
  const { promise: pid, resolve: resolvePid } = Promise.withResolvers<number | undefined>();
  const mark = Buffer.from(end);
  let head: Buffer | undefined = Buffer.alloc(0);
  let tail = Buffer.alloc(0);

  const takeError = (bytes: Buffer) => {
    if (head === undefined) return splitter.write(bytes);
    head = Buffer.concat([head, bytes]);
    const lineEnd = head.indexOf("\n");
    if (lineEnd === -1 && head.length <= PID_LENGTH_MAX) return;
    const text = head.toString("latin1", 0, Math.max(lineEnd, 0));
    const isPid = /^\d+$/.test(text);
    resolvePid(isPid ? Number(text) : undefined);
    splitter.write(isPid ? head.subarray(lineEnd + 1) : head);
    head = undefined;
  };

  const frames = framesOf(stream);

  async function* read(): AsyncGenerator<Uint8Array> {
    // `for await` would end the stream when the reader fails, before the process id has arrived.
    for (let frame = await frames.next(); !frame.done; frame = await frames.next()) {
      const { stream: from, bytes } = frame.value;
      if (from === "stderr") takeError(bytes);
      else {
        const all = tail.length === 0 ? bytes : Buffer.concat([tail, bytes]);
        const kept = Math.max(all.length - mark.length, 0);
        tail = Buffer.from(all.subarray(kept));
        if (kept > 0) yield all.subarray(0, kept);
      }
    }
    resolvePid(undefined);
    splitter.end();
    // The remaining output, or the reason why the program could not be started.
    if (!isComplete() && tail.length > 0) yield tail;
  }
  const isComplete = () => tail.equals(mark);
  const output = read();

  return {
    /** Process id of the program's shell. After the reader failed, reads on and drops the output until it arrives. */
    async findPid(): Promise<number | undefined> {
      const search = async () => {
        while (head !== undefined) {
          const frame = await frames.next();
          if (frame.done) return undefined;
          if (frame.value.stream === "stderr") takeError(frame.value.bytes);
        }
        return await pid;
      };
      const found = search();
      found.catch(() => undefined);
      // A reader that is still reading may receive it instead.
      return await Promise.race([pid, found]);
    },
    output,
    isComplete,
    /** Reads and drops the remaining output. */
    rest: () => drain(output),
    errors: (): readonly string[] => lines,
  };
}

/** Wraps failures of the stream, so that a reader can distinguish them from its own. */
async function* framesOf(stream: AsyncIterable<Uint8Array | string>): ReturnType<typeof readFrames> {
  try {
    yield* readFrames(stream);
  } catch (cause) {
    throw isOutOfReach(cause) && !isDomainError(cause) ? brokenOff(cause) : cause;
  }
}

const LINES_MAX = 200;
const BEGIN_MS = 5000;
