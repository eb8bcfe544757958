import { type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CountedDatabase, countedDatabase } from "./counted-database.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Of a server that has nothing to do, measured on a quiet machine; a busy one makes fewer. */
const TRANSACTIONS_PER_HALF_MINUTE = 30;

let database: TestDatabase;
let counted: CountedDatabase;
let server: TestServer;
beforeAll(async () => {
  database = await testDatabase({ backend: "tcp" });
  counted = await countedDatabase(database.url);
  server = await testServer({ env: { BERTH_DATABASE_URL: counted.url } });
}, 120_000);
afterAll(async () => {
  await server?.dispose();
  await counted?.close();
  await database?.close();
});

test("a server with nothing to do makes few transactions", async () => {
  // A rate needs time to be seen, and the first seconds contain what a start does once.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  counted.taken();
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  const made = counted.taken().map(({ statements }) => statements.join("\n  "));
  expect(made.length, made.join("\n")).toBeLessThanOrEqual(TRANSACTIONS_PER_HALF_MINUTE);
}, 120_000);
