import { testDatabase } from "@berth/testing";
import { type CountedDatabase, countedDatabase } from "./counted-database.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** A server whose transactions are counted. */
export interface CountedServer {
  readonly server: TestServer;
  readonly counted: CountedDatabase;
  /** Address of its database that nothing counts. */
  readonly databaseUrl: string;
  dispose(): Promise<void>;
}

export async function countedServer(env: Readonly<Record<string, string>> = {}): Promise<CountedServer> {
  const database = await testDatabase({ backend: "tcp" });
  const counted = await countedDatabase(database.url);
  const server = await testServer({ env: { ...env, BERTH_DATABASE_URL: counted.url } });
  return {
    server,
    counted,
    databaseUrl: database.url,
    async dispose() {
      await server.dispose();
      await counted.close();
      await database.close();
    },
  };
}
