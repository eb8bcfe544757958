import { once } from "node:events";
import { constants } from "node:os";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { ClientChannel } from "ssh2";
import { type Argv, toShell } from "./argv.ts";
import type { HostRunOptions } from "./host.ts";
import type { RunResult } from "./local.ts";
import { collectOutput } from "./output.ts";
import { cancelled, type SshConnection } from "./ssh-connection.ts";
import { connectionLost, sessionRefused } from "./ssh-failure.ts";
import type { Turns } from "./turns.ts";

const BEGIN = "berth:begin";

/**
 * Input of the login shell: always the same text, so that any shell can parse it, and neither secrets nor arguments
 * appear in the machine's process list before the program itself runs. The command comes on standard input, line by
 * line: `read` consumes no byte after its line, so the rest is the program's input. The process id is printed on
 * standard error in a line of its own, after the output of startup files: sshd forwards no signals to processes of
 * root.
 */
const LAUNCHER = [
  `exec /usr/bin/env -i /bin/sh -c 'echo ${BEGIN}; echo "${BEGIN} $$" >&2; `,
  `nl=$(printf "\\n."); nl=\${nl%.}; s=; IFS= read -r n || exit 255; `,
  'while [ "$n" -gt 0 ]; do IFS= read -r l || exit 255; s="$s$l$nl"; n=$((n-1)); done; ',
  `eval "$s"'`,
].join("");

/**
 * Text for the launcher: the number of lines, then the lines. `exec` makes the program the leader of its process
 * group.
 */
export function launchText(argv: Argv, { env, cwd, stdin }: HostRunOptions): string {
  const names = Object.keys(env);
  const unusable = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  if (unusable !== undefined) {
    throw new DomainError("engine.failed", `The variable ${unusable} cannot be set for ${argv[0]} over SSH.`);
  }
  const script = [
    ...(cwd === undefined ? [] : [`cd ${toShell([cwd])} || exit 126`]),
    // Variables that some shells set by themselves.
    "unset PWD OLDPWD SHLVL",
    ...names.map((name) => `export ${name}=${toShell([env[name] ?? ""])}`),
    `exec ${toShell(argv)}${stdin === undefined ? " </dev/null" : ""}`,
  ].join("\n");
  return `${script.split("\n").length}\n${script}\n`;
}

/** Like `run` on this machine, but processes in a session of their own survive an abort. */
export async function runOver(
  connection: SshConnection,
  sessions: Turns,
  argv: Argv,
  options: HostRunOptions,
): Promise<RunResult> {
  // Watched from the start, since it may fail while this call waits for a session.
  const broken = brokenBy(options.stdin);
  const stop = AbortSignal.any([broken.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const endedBy = (error: unknown) => {
    if (options.signal?.aborted) return cancelled();
    return broken.signal.aborted ? brokenError(argv, broken.signal.reason) : error;
  };
  try {
    return await sessions.take(() => inTurn(connection, argv, { ...options, signal: stop }, broken), stop);
  } catch (error) {
    throw endedBy(error);
  }
}

async function inTurn(
  connection: SshConnection,
  argv: Argv,
  options: HostRunOptions & { readonly signal: AbortSignal },
  broken: AbortController,
): Promise<RunResult> {
  const { name } = connection.target;
  const text = launchText(argv, options);
  const channel = await connection.open<ClientChannel>(
    (client, done) => client.exec(LAUNCHER, done),
    (cause) => sessionRefused(name, cause),
    options.signal,
  );
  channel.on("error", () => {}); // Ignored: the channel's end reports it.
  const ending = endOf(channel);
  const [out, errors] = [sinceBegin(channel), sinceBegin(channel.stderr)];
  const output = collectOutput(
    { stdout: out.rest, stderr: errors.rest },
    { ...options, idleMs: IDLE_MS, lateMsMax: LATE_MS_MAX },
  );
  const handedOn = feed({ channel, stdout: out.rest }, text, options, broken);

  const first = await firstOf(ending, options.signal, options.timeoutSeconds);
  if (first !== "ended") {
    const pid = await Promise.race([errors.begun, ending.then(() => undefined)]);
    await endGroup(connection, channel, pid);
  }
  const end =
    first === "ended" ? await ending : await Promise.race([ending, delay(GRACE_SECONDS * 1000, "lost" as const)]);
  await output.drained();
  channel.destroy();
  options.signal.throwIfAborted();
  if (first === "timeout") return { ...output.kept(), exitCode: 124, isTimedOut: true };
  if (end === "lost") throw connectionLost(name);
  await handedOn;
  options.signal.throwIfAborted();
  return { ...output.kept(), exitCode: end, isTimedOut: false };
}

function brokenBy(stdin: HostRunOptions["stdin"]): AbortController {
  const broken = new AbortController();
  if (stdin instanceof Readable) stdin.on("error", (cause) => broken.abort(cause));
  return broken;
}

/**
 * Removes the output before the program begins; that output is shown if the program never begins.
 * @returns `begun`: the process id; NaN if it was not printed in time.
 */
function sinceBegin(stream: Readable): { readonly begun: Promise<number>; readonly rest: Readable } {
  const { promise: begun, resolve } = Promise.withResolvers<number>();
  let head: Buffer | undefined = Buffer.alloc(0);
  const rest = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (head === undefined) return done(null, chunk);
      const known = Buffer.concat([head, chunk]);
      // Latin-1: each byte is one character.
      const line = BEGIN_LINE.exec(known.toString("latin1"));
      if (line === null && known.length <= HEAD_LENGTH_MAX) {
        head = known;
        return done();
      }
      head = undefined;
      // Without a process id the program cannot be ended.
      resolve(Number(line?.[1] ?? Number.NaN));
      done(null, line === null ? known : known.subarray(line.index + line[0].length));
    },
    // The shell failed before the program began, and printed the reason.
    flush: (done) => done(null, head),
  });
  return { begun, rest: stream.pipe(rest) };
}

/** The exit code, or `lost` when the channel closed without one. */
function endOf(channel: ClientChannel): Promise<number | "lost"> {
  return new Promise((resolve) => {
    channel.on("exit", (code: number | null, signalName?: string) => resolve(code ?? 128 + numberOf(signalName)));
    channel.on("close", () => resolve("lost"));
  });
}

function numberOf(signalName = ""): number {
  const name = signalName.startsWith("SIG") ? signalName : `SIG${signalName}`;
  const known: Readonly<Record<string, number>> = constants.signals;
  return known[name] ?? 0;
}

/** Sends the command and its input, and passes on its output. Resolves when all is done. */
async function feed(
  program: { readonly channel: ClientChannel; readonly stdout: Readable },
  text: string,
  { stdin, stdout }: HostRunOptions,
  broken: AbortController,
): Promise<void> {
  const { channel } = program;
  const work: Promise<void>[] = [];
  channel.write(text);
  if (stdin instanceof Readable) stdin.pipe(channel);
  else channel.end(stdin);
  if (stdout !== undefined) {
    work.push(pipeline(program.stdout, stdout).catch((cause: unknown) => broken.abort(cause)));
  }
  await Promise.all(work);
}

async function firstOf(
  ending: Promise<unknown>,
  stop: AbortSignal,
  timeoutSeconds: number | undefined,
): Promise<"ended" | "stopped" | "timeout"> {
  const over = new AbortController();
  const { signal } = over;
  try {
    return await Promise.race([
      ending.then(() => "ended" as const),
      stop.aborted ? ("stopped" as const) : once(stop, "abort", { signal }).then(() => "stopped" as const),
      ...(timeoutSeconds === undefined ? [] : [delay(timeoutSeconds * 1000, "timeout" as const, { signal })]),
    ]);
  } finally {
    over.abort();
  }
}

/** Asks the program's group to exit, kills it after the grace time, and closes the channel. */
async function endGroup(connection: SshConnection, channel: ClientChannel, pid: number | undefined): Promise<void> {
  if (pid === undefined || !(pid > 1)) {
    channel.destroy();
    return;
  }
  const argv = ["sh", "-c", END_GROUP, "sh", String(pid)] as const;
  // Bypasses the limit of sessions, which programs to be ended may occupy. An unreachable machine is not waited for.
  const ended = new AbortController();
  const options = {
    env: { PATH },
    signal: AbortSignal.any([ended.signal, AbortSignal.timeout(END_SECONDS_MAX * 1000)]),
  };
  await inTurn(connection, argv, options, ended).catch(() => undefined);
}

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const BEGIN_LINE = new RegExp(`${BEGIN}(?: (\\d+))?\n`);
const HEAD_LENGTH_MAX = 1 << 16;
const GRACE_SECONDS = 2; // Less than the 5 seconds within which a cancelled build must end.
const END_SECONDS_MAX = 4;
const END_GROUP = [
  'kill -TERM "-$1" || exit 0',
  `n=${GRACE_SECONDS * 10}; while [ "$n" -gt 0 ] && kill -0 "-$1"; do sleep 0.1; n=$((n-1)); done`,
  'kill -KILL "-$1"',
].join("\n");

function brokenError(argv: Argv, cause: unknown): DomainError {
  if (isDomainError(cause)) return cause;
  return new DomainError("engine.failed", `The input or output of ${argv[0]} broke off. Try again.`, { cause });
}

const IDLE_MS = 1000; // Time for remaining output to arrive; background processes are not waited for.
/** Background processes may write for ever. */
const LATE_MS_MAX = 5000;
