import { afterAll, beforeAll, expect, test } from "vitest";
import { type CountedServer, countedServer } from "./counted-server.fixture.ts";

/** Of a server that has nothing to do, measured on a quiet machine; a busy one makes fewer. */
const TRANSACTIONS_PER_HALF_MINUTE = 30;

let counting: CountedServer;
beforeAll(async () => {
  counting = await countedServer();
});
afterAll(() => counting?.dispose());

test("a server with nothing to do makes few transactions", async () => {
  const { counted } = counting;
  // A rate needs time to be seen, and the first seconds contain what a start does once.
  await new Promise((resolve) => setTimeout(resolve, 15_000));
  counted.taken();
  await new Promise((resolve) => setTimeout(resolve, 30_000));
  const made = counted.taken().map(({ statements }) => statements.join("\n  "));
  expect(made.length, made.join("\n")).toBeLessThanOrEqual(TRANSACTIONS_PER_HALF_MINUTE);
});
