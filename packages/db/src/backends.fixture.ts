import { BACKENDS, type Backend, type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, beforeAll, describe } from "vitest";

/** The same guarantees on the embedded PostgreSQL and on the fallback. */
export function onEachBackend(
  suite: (database: () => TestDatabase) => void,
  backends: readonly Backend[] = BACKENDS,
): void {
  describe.each(backends)("on %s", (backend) => {
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
