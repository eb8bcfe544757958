import { describe, expect, test } from "vitest";
import { initScripts } from "../application/init-script.ts";
import { databaseAccess, databaseChange, newDatabase } from "./database-change.ts";
import { DATABASE_ENGINE_NAMES, databaseEngine } from "./database-engine.ts";
import { DATABASE_CREATES, DatabaseUpdate } from "./database-input.ts";

const place = { project_uuid: "p", environment_name: "production", server_uuid: "s" };
let count = 0;
const password = () => `generated-${++count}`;

describe("a new database", () => {
  test.each(DATABASE_ENGINE_NAMES)("of %s has a password of its own for each one that was not sent", (engine) => {
    const { secrets, variables, settings, problems } = newDatabase(engine, place, password);
    const generated = Object.values({ ...secrets, ...variables }).filter((value) => value.startsWith("generated-"));
    expect(generated.length).toBeGreaterThan(0);
    expect(new Set(generated).size).toBe(generated.length);
    expect([settings.image, problems]).toEqual([databaseEngine(engine).image, {}]);
  });

  test("has what was sent, and the defaults of its engine for the rest", () => {
    const sent = DATABASE_CREATES.postgresql.parse({
      ...place,
      postgres_user: "app",
      postgres_password: "own",
      postgres_db: null,
      postgres_initdb_args: "",
      limits_cpus: "0.5",
      image: "postgres:17",
    });
    expect(newDatabase("postgresql", sent, password)).toMatchObject({
      fields: { postgres_user: "app", postgres_db: "postgres", postgres_initdb_args: null, postgres_conf: null },
      secrets: { postgres_password: "own" },
      variables: {},
      settings: { limits_cpus: "0.5", image: "postgres:17", limits_memory: "0" },
    });
  });
});

describe("a change of a database", () => {
  test("keeps names and passwords for null, clears texts, and gives settings their default", () => {
    const sent = DatabaseUpdate.parse({
      ...{ postgres_user: null, postgres_password: "", postgres_conf: null, limits_memory: null, image: null },
    });
    expect(databaseChange("postgresql", sent)).toEqual({
      settings: { limits_memory: "0", image: "postgres:16-alpine" },
      fields: { postgres_conf: null },
      secrets: {},
      variables: {},
      problems: {},
    });
  });

  test("keeps the password of Redis as a variable", () => {
    const { secrets, variables } = databaseChange("redis", { redis_password: "own" });
    expect([secrets, variables]).toEqual([{}, { REDIS_PASSWORD: "own" }]);
  });

  test("takes no field of another engine, and no base64 of what is no text", () => {
    const sent = { mysql_user: "x", redis_conf: "", postgres_conf: btoa("\xff\xfe"), limits_cpus: "all" };
    expect(databaseChange("postgresql", sent).problems).toEqual({
      mysql_user: ["This field is not allowed."],
      redis_conf: ["This field is not allowed."],
      postgres_conf: ["Must be plain text, or base64 of UTF-8 text."],
      limits_cpus: ["Must be a number such as 0.5 or 2, or 0 for no limit."],
    });
    expect(databaseChange("postgresql", { postgres_conf: btoa("a = 1") }).fields).toEqual({ postgres_conf: "a = 1" });
  });

  test("takes a mode of its engine alone, and scripts that its image runs", () => {
    const scripts = [
      { filename: "late.sql", content: "b", index: 7 },
      { filename: "early.sh", content: "a" },
    ];
    const sent = DatabaseUpdate.parse({ enable_ssl: true, ssl_mode: "verify-ca", init_scripts: scripts });
    const { fields, secrets, problems } = databaseChange("postgresql", sent);
    expect(problems).toEqual({});
    expect(fields).toEqual({ enable_ssl: "true", ssl_mode: "verify-ca" });
    expect(initScripts(secrets.init_scripts)).toEqual([
      { index: 0, filename: "early.sh", content: "a" },
      { index: 1, filename: "late.sql", content: "b" },
    ]);
    expect(databaseChange("mongodb", sent).problems).toEqual({
      ssl_mode: ["Must be one of allow, prefer, require, verify-full."],
      init_scripts: ["late.sql would not be run: its name must end with .js or .sh."],
    });
    expect(Object.keys(databaseChange("clickhouse", sent).problems)).toEqual(["enable_ssl", "ssl_mode"]);
    expect(Object.keys(databaseChange("redis", sent).problems)).toEqual(["init_scripts", "ssl_mode"]);
    expect(databaseChange("mysql", { enable_ssl: null, ssl_mode: null, init_scripts: null })).toMatchObject({
      ...{ fields: { enable_ssl: "false", ssl_mode: "REQUIRED" }, secrets: { init_scripts: "[]" }, problems: {} },
    });
  });

  test.each([
    [[{ filename: "../x.sql", content: "" }]],
    [[{ filename: ".x.sql", content: "" }]],
    [[{ filename: "-x.sql", content: "" }]],
    [[{ filename: "a/x.sql", content: "" }]],
    [[{ filename: "x\n.sql", content: "" }]],
    [[{ filename: "x.sql", content: "\0" }]],
    [[{ filename: "x.sql", content: "a".repeat(262_145) }]],
    [[{ filename: "x.sql", content: "", mode: "0755" }]],
    [[1, 2].map(() => ({ filename: "x.sql", content: "" }))],
    [Array.from({ length: 51 }, (_, n) => ({ filename: `${n}.sql`, content: "" }))],
    [Array.from({ length: 5 }, (_, n) => ({ filename: `${n}.sql`, content: "a".repeat(250_000) }))],
  ])("takes no script such as %.60j", (init_scripts) => {
    expect(DatabaseUpdate.safeParse({ init_scripts }).success).toBe(false);
  });

  test.each([
    [{ is_public: false, public_port: null }, { is_public: true }, { is_public: false, public_port: null }],
    [{ is_public: false, public_port: 5000 }, { is_public: true }, { is_public: true, public_port: 5000 }],
    [{ is_public: true, public_port: 5000 }, { public_port: null }, { is_public: false, public_port: null }],
    [{ is_public: true, public_port: 5000 }, { public_port: 5001 }, { is_public: true, public_port: 5001 }],
    [{ is_public: true, public_port: 5000 }, {}, { is_public: true, public_port: 5000 }],
  ])("makes %j with %j to %j: without a port nothing is public", (current, sent, access) => {
    expect(databaseAccess(current, sent)).toEqual(access);
  });
});
