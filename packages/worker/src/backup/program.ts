import { DomainError } from "@berth/core";
import type { ContainerOperations } from "@berth/core/ports";
import { endingOf } from "../lease-keeper.ts";
import { pause } from "../wait.ts";
import type { KnownDatabase } from "./known-database.ts";

export type Command = ContainerOperations["command"];

/**
 * Runs programs so that the signal also ends their statements in the database: a server continues a statement after
 * its client was killed, for hours when it builds an index. So the statement is ended first, where the database
 * supports that, and the program then exits by itself; if it does not within the grace time, it is killed.
 * @param uuid Of the backup or restore: names its statements in the database.
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
      // The run is lost: another worker is about to record its end.
      if (endingOf(signal) === "lost") killed.abort();
      const timers = [setTimeout(() => killed.abort(), GRACE_MS), setTimeout(() => late.abort(), LATE_MS)];
      do {
        await command(ref, interrupted, { signal: late.signal }).catch(() => undefined);
        await pause(INTERRUPT_SECONDS, over.signal);
        // Repeated: it may have been between two statements, and be executing the next one now.
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
      // Wait for it: ending statements by name later would hit the next program of this run.
      await ending;
    }
  };
}

const INTERRUPT_SECONDS = 0.2;
/** A cancelled run must end within 5 seconds, of which its worker may need 3 to learn of the cancel. */
const GRACE_MS = 1200;
/** Limit for ending the statement on a slow engine; without one the loop could run for ever. */
const LATE_MS = 2000;

/** Ends the input early, so that the program sees the end of its input. */
async function* endedBy(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    if (signal.aborted) return;
    yield chunk;
  }
}

/** Throws on abort. */
export async function* abortedBy(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    assertNotAborted(signal);
    yield chunk;
  }
}

/** @throws DomainError `deploy.cancelled` */
export function assertNotAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
}

/** A signal for cleanup that may still take this long after the first signal fired. */
export function graceAfter(signal: AbortSignal, graceMs: number): AbortSignal {
  const over = new AbortController();
  const end = () => setTimeout(() => over.abort(signal.reason), graceMs).unref();
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return over.signal;
}
