import { TRPCClientError, type TRPCLink } from "@trpc/client";
import type { AnyTRPCRouter } from "@trpc/server";
import { observable } from "@trpc/server/observable";
import { isCodeMode, NOT_SENT } from "./code-mode.ts";

/** A request that a button would send. */
export interface RecordedCall {
  /** Name of the operation in the typed client, such as `applications.stop`. */
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

let calls: RecordedCall[] | undefined;

/** Refuses what is sent while a button is shown as code, and every change while all buttons are. Must be the first link. */
export const recordingLink: TRPCLink<AnyTRPCRouter> =
  () =>
  ({ op, next }) => {
    if (calls === undefined && !(isCodeMode() && op.type === "mutation")) return next(op);
    // Inputs of operations are objects.
    calls?.push({ operation: op.path, input: (op.input ?? {}) as RecordedCall["input"] });
    return observable((observer) => observer.error(new TRPCClientError(NOT_SENT)));
  };

/**
 * The first request of this work, which is not sent.
 * @param work Must send it before it waits for anything.
 */
export function recordedCall(work: () => Promise<unknown>): RecordedCall | undefined {
  const recorded: RecordedCall[] = [];
  calls = recorded;
  try {
    work().catch(() => {});
  } catch {
    // What was entered cannot be sent yet.
  } finally {
    calls = undefined;
  }
  return recorded[0];
}
