import { DomainError } from "@berth/core";
import { expect, it } from "vitest";
import { connectionProblem, parseDatabaseUrl, versionProblem } from "./database-url.ts";

const target = parseDatabaseUrl("postgres://berth:hunter2@db.internal:6543/shop");

it("names where a database is without the password", () => {
  expect(target).toMatchObject({ user: "berth", database: "shop", place: "db.internal:6543" });
  expect(parseDatabaseUrl("postgresql://berth@localhost/shop?host=/run/pg").place).toBe("/run/pg");
});

it.each([
  ["ENOTFOUND", /host of BERTH_DATABASE_URL, db\.internal:6543, is unknown/],
  ["EAI_AGAIN", /cannot be looked up/],
  ["ECONNREFUSED", /No PostgreSQL listens at db\.internal:6543/],
  ["28P01", /refuses the password of berth/],
  ["28000", /does not allow berth to connect/],
  ["3D000", /The database shop does not exist/],
  ["53300", /no connection left/],
  ["57P03", /starting or stopping/],
  ["ETIMEDOUT", /cannot be reached \(ETIMEDOUT\)/],
  [undefined, /cannot be reached\. Check/],
])("says what %s means and what to do", (code, sentence) => {
  const { message } = connectionProblem(Object.assign(new Error("postgres://berth:hunter2@"), { code }), target);
  expect(message).toMatch(sentence);
  expect(message).toMatch(/\.$/);
  expect(message).not.toContain("hunter2");
});

it("refuses a PostgreSQL that is too old, by its version", () => {
  expect(versionProblem(140_012, target)).toBeInstanceOf(DomainError);
  expect(versionProblem(140_012, target)?.message).toMatch(/is version 14, and Berth needs 15 or newer/);
  for (const version of [150_000, 150_004, 180_000]) expect(versionProblem(version, target)).toBeUndefined();
});
