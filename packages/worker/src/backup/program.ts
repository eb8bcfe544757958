import { DomainError } from "@berth/core";
import type { ContainerOperations } from "@berth/core/ports";
import { endingOf } from "../lease-keeper.ts";
import { pause } from "../wait.ts";
import type { KnownDatabase } from "./known-database.ts";

export type Command = ContainerOperations["command"];

/**
 * Runs programs so that the signal ends what the server does for them too: it continues with what a program has asked for
 * when that is killed, for hours where it builds an index. So the statement is ended first where that can be done,
 * after which the program ends by itself and says how; what does not end within the grace time is killed.
 * @param uuid Of the run: by it, what the server does for it is found.
 */
export function interruptible(command: Command, { dumps, values }: KnownDatabase, uuid: string): Command {
  const { interruption } = dumps;
  if (interruption === undefined) return command;
  const name = `berth-${uuid}`;
  const interrupted = interruption.command(values, name);
  return async (ref, { variables, ...asked }, { signal, input, ...io }) => {
    const killed = new AbortController();
    if (signal.aborted) killed.abort();
    const named = { ...asked, variables: { ...variables, [interruption.variable]: name } };
    const fed = input === undefined ? {} : { input: endedBy(input, signal) };
    const program = command(ref, named, { ...io, ...fed, signal: killed.signal });
    const end = async () => {
      const [over, late] = [new AbortController(), new AbortController()];
      program.catch(() => undefined).finally(() => over.abort());
      // Another worker is about to record the end of a lost run.
      if (endingOf(signal) === "lost") killed.abort();
      const timers = [setTimeout(() => killed.abort(), GRACE_MS), setTimeout(() => late.abort(), LATE_MS)];
      do {
        await command(ref, interrupted, { signal: late.signal }).catch(() => undefined);
        await pause(INTERRUPT_SECONDS, over.signal);
        // It may have stood between two statements, and be at the next one now.
      } while (!over.signal.aborted && !killed.signal.aborted);
      for (const timer of timers) clearTimeout(timer);
    };
    let ending: Promise<void> | undefined;
    const onAbort = () => {
      ending = end();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await program;
    } finally {
      signal.removeEventListener("abort", onAbort);
      // Ending statements of this name would also end those of the next program.
      await ending;
    }
  };
}

const INTERRUPT_SECONDS = 0.2;
/** A cancelled run is over within 5 seconds, of which it may take 3 until its worker hears of that. */
const GRACE_MS = 1200;
/** The server would never stop: an engine that is slow has until then to end the statement. */
const LATE_MS = 2000;

/** The program is told that this was all. */
async function* endedBy(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (signal.aborted) return;
    yield chunk;
  }
}

/** Fails instead of going on. */
export async function* stoppedBy(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    requireGoingOn(signal);
    yield chunk;
  }
}

/** @throws DomainError `deploy.cancelled` */
export function requireGoingOn(signal: AbortSignal): void {
  if (signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
}

/** For what is to be done even then, and does not take long. */
export function graceAfter(signal: AbortSignal, graceMs: number): AbortSignal {
  const over = new AbortController();
  const end = () => setTimeout(() => over.abort(signal.reason), graceMs).unref();
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return over.signal;
}
