import { CompiledQuery, type Kysely } from "kysely";
import type { DB } from "./schema.ts";

/**
 * A query that is built and compiled only once, at its first use: for a small query that costs as much as running it.
 *
 * @param build Gets placeholders for the parameters, which it may only pass on as values.
 */
export function prepared<Parameters extends readonly unknown[], Row>(
  build: (db: Kysely<DB>, ...parameters: Parameters) => { compile(): CompiledQuery<Row> },
): (db: Kysely<DB>, ...parameters: Parameters) => Promise<Row | undefined> {
  let known: { readonly sql: string; readonly positions: readonly number[] } | undefined;
  return async (db, ...parameters) => {
    known ??= compileOnce(db, build, parameters.length);
    const values = known.positions.map((position) => parameters[position]);
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(known.sql, values));
    return rows[0];
  };
}

function compileOnce<Parameters extends readonly unknown[]>(
  db: Kysely<DB>,
  build: (db: Kysely<DB>, ...parameters: Parameters) => { compile(): CompiledQuery },
  count: number,
) {
  const standIns: readonly unknown[] = Array.from({ length: count }, () => Symbol("parameter"));
  // Placeholders may have any type, since nothing reads a value before the query runs.
  const { sql, parameters } = build(db, ...(standIns as unknown as Parameters)).compile();
  // The query may use a value twice, or in another order.
  const positions = parameters.map((parameter) => standIns.indexOf(parameter));
  if (positions.includes(-1)) throw new Error(`A value of this query is no parameter: write it with sql.lit: ${sql}`);
  return { sql, positions };
}
