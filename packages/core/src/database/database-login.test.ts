import { expect, test } from "vitest";
import { asItRuns, isSameLogin, keptLogin, liveLogin, loginOf, passwordsOf } from "./database-login.ts";

const FIELDS = { postgres_user: "bob", postgres_db: "shop", postgres_conf: "a = 1" };
const LOGIN = { postgres_user: "postgres", postgres_password: "first", postgres_db: "shop" };

test("the login is the names and passwords among the fields, and is kept with the secrets", () => {
  const login = loginOf("postgresql", { ...FIELDS, postgres_password: "second", ssl_mode: "require" });
  expect(login).toEqual({ postgres_user: "bob", postgres_password: "second", postgres_db: "shop" });
  expect(liveLogin({ postgres_password: "second", ...keptLogin(LOGIN) })).toEqual(LOGIN);
  expect(liveLogin({ postgres_password: "second" })).toBeUndefined();
  expect(passwordsOf("postgresql", LOGIN)).toEqual(["first"]);
});

test("a database that runs has its login, whatever was set since", () => {
  const database = { engine: "postgresql", fields: FIELDS } as const;
  const secrets = { postgres_password: "second" };
  expect(asItRuns(database, secrets, LOGIN)).toEqual({
    database: { engine: "postgresql", fields: { ...FIELDS, postgres_user: "postgres" } },
    secrets: { postgres_password: "first" },
  });
  expect(asItRuns(database, secrets, undefined)).toEqual({ database, secrets });
});

test.each([
  [undefined, LOGIN, false],
  [LOGIN, LOGIN, true],
  [{ ...LOGIN, more: "x" }, LOGIN, true],
  [LOGIN, { ...LOGIN, postgres_user: "bob" }, false],
])("login %j is the same as %j: %s", (one, other, isSame) => {
  expect(isSameLogin(one, other)).toBe(isSame);
});
