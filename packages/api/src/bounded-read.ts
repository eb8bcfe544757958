import { asDomainError } from "./errors.ts";
import { fairTurns } from "./fair-turns.ts";
import type { RequestContext } from "./trpc.ts";

/**
 * What a query reads is in memory several times: as rows, as views and as text. Most read little. Those that need more
 * are read again a few at a time, by turns of the teams, up to what one answer may hold.
 */
export async function readBounded<R extends { readonly ok: boolean }>(
  { teamId, limitReads, isDivisible }: BoundedRead,
  read: () => Promise<R>,
): Promise<R> {
  if (limitReads === undefined) return await read();
  // The smallest part of a list was too large as a part of a larger one.
  if (isDivisible !== false) {
    const result = await limitReads(LITTLE_BYTES, read);
    if (isDivisible === true || !isTooLarge(result)) return result;
  }
  return await turn(teamId, () => limitReads(ANSWER_BYTES_MAX, read));
}

interface BoundedRead extends Pick<RequestContext, "limitReads" | "isDivisible"> {
  readonly teamId: number;
}

export const isTooLarge = (result: object): result is { readonly error: unknown } =>
  "error" in result && asDomainError(result.error).code === "answer.too_large";

const LITTLE_BYTES = 1024 ** 2;
const ANSWER_BYTES_MAX = 8 * 1024 ** 2;
const turn = fairTurns(2);
