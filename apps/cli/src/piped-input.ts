import { setTimeout as delay } from "node:timers/promises";
import { usage } from "./failure.ts";
import type { System } from "./system.ts";

export interface PipedInput {
  /** @throws Failure when something was piped in: a command that cannot pass it on would run without it. */
  refuse(): Promise<void>;
  /** Whether something arrived. */
  hasArrived(): boolean;
}

/**
 * Watches standard input for a first byte, and reads nothing. A pipe may stay open and silent for ever, as in CI, so it
 * is waited for only a moment.
 */
export function watchPipedInput({ stdin }: Pick<System, "stdin">, patienceMs = PATIENCE_MS): PipedInput {
  let hasArrived = false;
  const first = new Promise<void>((resolve) => {
    // A terminal's keys are for the shell that follows.
    if (stdin.isTTY === true) return resolve();
    const onReadable = () => {
      // At its end, the stream is readable too.
      hasArrived = stdin.readableLength > 0;
      stdin.off("readable", onReadable);
      resolve();
    };
    stdin.on("readable", onReadable).once("end", resolve).once("error", resolve);
  });
  return {
    hasArrived: () => hasArrived,
    refuse: async () => {
      await Promise.race([first, delay(patienceMs, undefined, { ref: false })]);
      if (hasArrived) throw usage(NOT_PASSED_ON, REMEDIES);
    },
  };
}

/** Programs of the same pipe start at the same time, and this one has asked the server meanwhile. */
const PATIENCE_MS = 150;

export const NOT_PASSED_ON = "Standard input is not passed on to the command.";
const REMEDIES = [
  "Make it a part of the command: berth exec APP -- sh -c 'echo hello | cat'",
  "To run the command without it: add </dev/null",
];
