import { loopbackUrl, startTestPostgres, withClient } from "../packages/testing/src/postgres-server.ts";

/** A PostgreSQL on loopback with an empty database, for a server and for its baseline. */
export async function benchDatabase(): Promise<{
  readonly url: string;
  /** Runs statements as the database's owner. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>;
  stop(): Promise<void>;
}> {
  const postgres = await startTestPostgres();
  const name = "bench";
  await withClient({ connectionString: loopbackUrl(postgres, "postgres") }, (client) =>
    client.query(`create database ${name}`),
  );
  const url = loopbackUrl(postgres, name);
  return {
    url,
    query: (sql) => withClient({ connectionString: url }, async (client) => (await client.query(sql)).rows),
    stop: () => postgres.stop(),
  };
}
