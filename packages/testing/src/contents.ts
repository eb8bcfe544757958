import pg from "pg";

/**
 * Content of a database, as one text for each table, by which a test proves that nothing was changed.
 *
 * @param countedOnly Tables of which only the number of rows is compared.
 */
export async function contents(url: string, countedOnly: readonly string[] = []): Promise<Record<string, string>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select table_name as name from information_schema.tables
       where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
    );
    const held: Record<string, string> = {};
    for (const { name } of tables) {
      const table = client.escapeIdentifier(name);
      const content = countedOnly.includes(name)
        ? "count(*)::text"
        : "md5(coalesce(string_agg(to_jsonb(t)::text, '|' order by to_jsonb(t)::text), ''))";
      const { rows } = await client.query<{ content: string }>(`select ${content} as content from ${table} t`);
      held[name] = rows[0]?.content ?? "";
    }
    return held;
  } finally {
    await client.end();
  }
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
