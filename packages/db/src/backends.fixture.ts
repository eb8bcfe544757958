import { BACKENDS, type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, beforeAll, describe } from "vitest";

/** The same guarantees on the embedded PostgreSQL, on one reached by its address, and on the fallback. */
export function onEachBackend(suite: (database: () => TestDatabase) => void): void {
  describe.each(BACKENDS)("on %s", (backend) => {
    let database: TestDatabase | undefined;
    beforeAll(async () => {
      database = await testDatabase({ backend });
    });
    afterAll(() => database?.close());
    suite(() => {
      if (database === undefined) throw new Error("The database is open only while a test runs");
      return database;
    });
  });
}
