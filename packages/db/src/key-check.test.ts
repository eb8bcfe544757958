import { randomBytes } from "node:crypto";
import { testDatabase } from "@berth/testing";
import { expect, it } from "vitest";
import { cipher } from "./cipher.ts";
import { requireKey } from "./key-check.ts";

it("accepts the key that a database began with, also below a newer one, and no other", async () => {
  const { database, close } = await testDatabase();
  const [first, second] = [randomBytes(32), randomBytes(32)];
  await requireKey(database, cipher([first]));
  await requireKey(database, cipher([first]));
  await requireKey(database, cipher([first, second]));
  for (const keys of [[second], [second, first]]) {
    await expect(requireKey(database, cipher(keys))).rejects.toMatchObject({
      code: "setup.failed",
      message: expect.stringContaining("Put back the old key file"),
    });
  }
  await close();
});

it("lets one of two keys win when two control planes start at once on an empty database", async () => {
  const { database, close } = await testDatabase();
  const keys = [randomBytes(32), randomBytes(32)];
  const results = await Promise.allSettled(keys.map((key) => requireKey(database, cipher([key]))));
  expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  await close();
});
