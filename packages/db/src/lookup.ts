import { setImmediate as pollEnd } from "node:timers/promises";
import { CompiledQuery, type Kysely, type RawBuilder, sql } from "kysely";
import { limitReads } from "./read-limit.ts";
import type { DB } from "./schema.ts";

/**
 * A lookup of one row by its unique key. Those that are asked for in the same turn of the event loop are one statement:
 * under load, many requests ask for the same few rows, and a statement costs more than the rows it returns. Every row is
 * read after it was asked for. The query is built and compiled only once, since that costs as much as running it.
 *
 * @param build Gets a placeholder for the array of keys, which it may only pass on as a value.
 */
export function lookup<Row>(
  build: (db: Kysely<DB>, keys: readonly string[]) => { compile(): CompiledQuery<Row> },
  keyOf: (row: Row) => string,
): (db: Kysely<DB>, key: string) => Promise<Row | undefined> {
  let text: string | undefined;
  const gathering = new WeakMap<Kysely<DB>, Shared<Row>>();

  async function read(db: Kysely<DB>, keys: readonly string[]): Promise<ReadonlyMap<string, Row>> {
    text ??= compileOnce(db, build);
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [keys]));
    return new Map(rows.map((row) => [keyOf(row), row]));
  }

  function gather(db: Kysely<DB>): Shared<Row> {
    const keys = new Set<string>();
    const rows = pollEnd().then(() => {
      gathering.delete(db);
      // Belongs to many callers, so it has a limit of its own.
      return limitReads(SHARED_BYTES_MAX, () => read(db, [...keys]));
    });
    const shared = { keys, rows };
    gathering.set(db, shared);
    return shared;
  }

  return async (db, key) => {
    // A transaction reads over its own connection what it has written itself.
    if (db.isTransaction) return (await read(db, [key])).get(key);
    const shared = gathering.get(db) ?? gather(db);
    shared.keys.add(key);
    try {
      return (await shared.rows).get(key);
    } catch {
      // What failed for many may have failed because of one of them.
      return (await read(db, [key])).get(key);
    }
  };
}

/** The condition of a lookup: that a column is one of the keys. */
export const isAnyOf = (column: string, keys: readonly string[]): RawBuilder<boolean> =>
  sql<boolean>`${sql.ref(column)} = any(${keys})`;

interface Shared<Row> {
  readonly keys: Set<string>;
  readonly rows: Promise<ReadonlyMap<string, Row>>;
}

const SHARED_BYTES_MAX = 1024 ** 2;

function compileOnce(
  db: Kysely<DB>,
  build: (db: Kysely<DB>, keys: readonly string[]) => { compile(): CompiledQuery },
): string {
  const standIn: readonly string[] = [];
  const query = build(db, standIn).compile();
  if (query.parameters.length === 1 && query.parameters[0] === standIn) return query.sql;
  throw new Error(`A value of this query is not its keys: write it with sql.lit: ${query.sql}`);
}
