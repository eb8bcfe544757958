import { setImmediate as pollEnd } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { DB } from "./schema.ts";

/**
 * A read whose result is shared by all callers that ask for the same in one turn of the event loop, such as many open
 * pages that show the same list after a change. It begins at the end of the turn, so it reads what was there when each
 * of them asked. In a transaction every caller reads, over the transaction's connection.
 *
 * @returns Resolves with the result, which callers must not change. A caller that shares a failed read then reads by
 * itself: the first one may have been allowed to read less.
 */
export function sharedRead<Result>(): (db: Kysely<DB>, key: string, read: () => Promise<Result>) => Promise<Result> {
  const gathering = new WeakMap<Kysely<DB>, Map<string, Promise<Result>>>();

  return async (db, key, read) => {
    if (db.isTransaction) return await read();
    const waiting = gathering.get(db) ?? new Map<string, Promise<Result>>();
    gathering.set(db, waiting);
    const shared = waiting.get(key);
    if (shared !== undefined) return await shared.catch(read);
    const own = pollEnd().then(() => {
      waiting.delete(key);
      return read();
    });
    waiting.set(key, own);
    return await own;
  };
}
