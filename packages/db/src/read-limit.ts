import { AsyncLocalStorage } from "node:async_hooks";
import { DomainError } from "@berth/core";
import type { LimitReads } from "@berth/core/ports";
import type pg from "pg";

/**
 * Values are counted as they arrive, so that what is too large is never in memory as a whole. Statements that `work` does
 * not wait for are counted too.
 */
export const limitReads: LimitReads = (bytes, work) => reads.run({ left: bytes, limit: bytes }, work);

/** The driver's parsers for one statement, which count what they read. */
export function countedTypes(getTypeParser: TypeParserOf): { getTypeParser: TypeParserOf } | undefined {
  const read = reads.getStore();
  if (read === undefined) return undefined;
  const counted = (oid: number, format?: "text" | "binary") => {
    const parse = getTypeParser(oid, format as "text");
    return (value: string) => {
      read.left -= value.length;
      // The driver then drops the remaining rows as they arrive.
      if (read.left < 0) throw tooLarge(read.limit);
      return parse(value);
    };
  };
  return { getTypeParser: counted as TypeParserOf };
}
type TypeParserOf = pg.CustomTypesConfig["getTypeParser"];

const reads = new AsyncLocalStorage<{ left: number; readonly limit: number }>();

const tooLarge = (bytes: number) =>
  new DomainError(
    "answer.too_large",
    `The answer needs more than ${Math.floor(bytes / 1024 ** 2)} MB of stored data. Ask for less with \`take\` and \`skip\`, or for the lists of its parts, such as GET /applications.`,
  );
