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
  endLaunched,
  endWhenBack,
  exitCodeOf,
  isOutOfReach,
  type Launched,
  PID_LENGTH_MAX,
  prepared,
} from "./exec.ts";

/**
 * Tells its process id, writes the file that is for this command only, runs the program and says at the end of its
 * output that this is all of it: a connection that breaks looks like an end too.
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

/** Runs a program in a container, as its user, with streams for what goes in and comes out. */
export async function commandIn(
  docker: Docker,
  containerId: string,
  { argv, variables, file }: DatabaseCommand,
  { signal, input, output = drain }: CommandIO,
): Promise<CommandResult> {
  if (signal.aborted) throw cancelled();
  const end = `berth-end-${randomBytes(12).toString("hex")}`;
  const env = { ...variables, ...(file && { BERTH_FILE_PATH: file.path, BERTH_FILE_TEXT: file.text }) };
  const launched = await prepared(docker.getContainer(containerId), {
    Cmd: ["/bin/sh", "-c", LAUNCHER, "sh", end, ...argv],
    // Neither arguments nor what is asked of the engine later show them.
    Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
    AttachStdin: input !== undefined,
  });
  const { exec } = launched;
  const stream = await exec.start({ hijack: true, stdin: input !== undefined });
  const streams = streamsOf(stream, end);
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(cancelled());
  signal.addEventListener("abort", onAbort, { once: true });
  // While the engine was asked, nobody listened yet.
  if (signal.aborted) onAbort();
  const read = output(streams.output).then(() => streams.rest());
  const fed = input === undefined ? Promise.resolve() : feed(stream, input);
  try {
    // Output that is read to its end means the program ended, even with unread input; a failed input is a failure.
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

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of chunks);
}

/** A program that ends early takes no more; only what the input itself fails with is thrown. */
async function feed(stream: Duplex, input: AsyncIterable<Uint8Array>): Promise<void> {
  const closed = once(stream, "close").catch(() => undefined);
  stream.on("error", () => undefined);
  for await (const chunk of input) {
    if (stream.destroyed || stream.writableEnded) return;
    if (!stream.write(chunk)) await Promise.race([once(stream, "drain").catch(() => undefined), closed]);
  }
  if (!stream.destroyed) stream.end();
}

/** The program may not have begun yet: it must not begin after that. */
async function kill(launched: Launched, pid: Promise<number | undefined>, path?: string): Promise<void> {
  const begun = await Promise.race([pid.catch(() => undefined), delay(BEGIN_MS, undefined, { ref: false })]);
  try {
    await endLaunched(launched, begun, path);
  } catch {
    // The reason why it was to be ended counts.
    void endWhenBack(launched, begun, path);
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
    // Not by `for await`: a reader that fails must not end the stream, which may bring the process id only now.
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
    /** Process id of the program's shell. Read on for, and the output dropped, where the reader has failed. */
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
      // A reader that still reads may be the one who gets it.
      return await Promise.race([pid, found]);
    },
    output,
    isComplete,
    /** Reads on when the reader has had enough. */
    rest: () => drain(output),
    errors: (): readonly string[] => lines,
  };
}

/** Marks failures of the stream, so that a reader can tell them from its own. */
async function* framesOf(stream: AsyncIterable<Uint8Array | string>): ReturnType<typeof readFrames> {
  try {
    yield* readFrames(stream);
  } catch (cause) {
    throw isOutOfReach(cause) && !isDomainError(cause) ? brokenOff(cause) : cause;
  }
}

const LINES_MAX = 200;
const BEGIN_MS = 5000;
