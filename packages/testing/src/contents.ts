import { sql } from "kysely";
import pg from "pg";
import type { TestDatabase } from "./database.ts";

/**
 * Content of a database, as one text for each table, by which a test proves that nothing was changed. Reads all of it,
 * so a suite of many steps does that once where it can.
 *
 * @param countedOnly Tables of which only the number of rows is compared.
 */
export async function contents(
  { database: { kysely } }: Pick<TestDatabase, "database">,
  countedOnly: readonly string[] = [],
): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ name: string }>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'`.execute(kysely);
  // The sum is the same in whatever order the rows are read.
  const content = (name: string) =>
    countedOnly.includes(name) ? sql`count(*)` : sql`count(*) || ' ' || sum(hashtextextended(t::text, 0))`;
  const parts = tables.map(
    ({ name }) => sql`select ${sql.lit(name)} as name, (${content(name)})::text as content from ${sql.table(name)} t`,
  );
  const { rows } = await sql<{ name: string; content: string | null }>`
    ${sql.join(parts, sql` union all `)}`.execute(kysely);
  return Object.fromEntries(rows.map(({ name, content }) => [name, content ?? "empty"]));
}

/** Empties tables and all rows that refer to them, so that consecutive tests can share a database. */
export async function emptyTables(url: string, tables: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of tables) await client.query(`delete from ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
