import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApplicationSecrets, ApplicationSettings } from "@berth/core/application";
import { SHARED_SCOPES } from "@berth/core/env";
import { type TestDatabase, testDatabase, testPlace, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Cipher, cipher, loadKeyFile } from "./cipher.ts";
import { requireKey } from "./key-check.ts";
import { addKey, reencrypt, sealedColumns } from "./reencrypt.ts";
import { stores } from "./scope.ts";

let db: TestDatabase;
beforeEach(async () => {
  db = await testDatabase();
});
afterEach(() => db.close());

const keys = [randomBytes(32), randomBytes(32)];
const old = () => cipher(keys.slice(0, 1));
const rotated = () => cipher(keys);

async function versions(table: string, column: string): Promise<number[]> {
  const { rows } = await sql<{ version: number }>`select distinct get_byte(${sql.ref(column)}, 0) as version
    from ${sql.table(table)} where ${sql.ref(column)} is not null`.execute(db.database.kysely);
  return rows.map(({ version }) => version);
}

async function applicationWith(key: Cipher, count: number) {
  const own = stores(db.database, { cipher: key })({ teamId: 0 });
  const { project, environment, server, destination } = await testPlace(own);
  const owners = { team: 0, project: project.id, environment: environment.id, server: server.id };
  const text = { key: "SHARED", value: "shared", is_multiline: false, is_shown_once: false, comment: null };
  for (const scope of SHARED_SCOPES) {
    await own.sharedVariables.insert({ scope, id: owners[scope] }, testUuid(), text);
  }
  const application = await own.applications.insert({
    uuid: testUuid(),
    environment_id: environment.id,
    server_id: server.id,
    destination_id: destination.id,
    name: "web",
    description: null,
    source: "git",
    settings: ApplicationSettings.parse({ build_pack: "nixpacks" }),
    secrets: ApplicationSecrets.parse({ http_basic_auth_password: "hush" }),
  });
  for (let n = 0; n < count; n++) {
    const flags = { is_preview: false, is_literal: false, is_multiline: false, is_shown_once: false };
    const use = { is_runtime: true, is_buildtime: true, is_required: false, comment: null, order: null };
    await own.envs.insert(application.id, testUuid(), { key: `KEY_${n}`, value: `value ${n}`, ...flags, ...use });
  }
  return application;
}

test("every secret is sealed anew with the newest key, and reads as before", async () => {
  const application = await applicationWith(old(), 1100);
  await requireKey(db.database, old());
  expect(await reencrypt(db.database, rotated())).toBe(1105);
  expect([await versions("env", "value"), await versions("application", "secrets")]).toEqual([[2], [2]]);
  const own = stores(db.database, { cipher: rotated() })({ teamId: 0 });
  const { items } = await own.envs.list(application.id);
  expect(items.map(({ value }) => value)).toEqual(items.map((_, n) => `value ${n}`));
  expect((await own.applications.secrets(application.id)).http_basic_auth_password).toBe("hush");
  const references = SHARED_SCOPES.map((scope) => ({ scope, key: "SHARED" }));
  const seen = await own.sharedVariables.seenBy([application.id], references);
  expect(seen.map(({ value }) => value)).toEqual(SHARED_SCOPES.map(() => "shared"));
  expect(await reencrypt(db.database, rotated())).toBe(0);
});

test("whoever starts with the old key file afterwards is told so", async () => {
  await requireKey(db.database, old());
  await reencrypt(db.database, rotated());
  await expect(requireKey(db.database, old())).rejects.toThrow("The key file is not the one");
  await requireKey(db.database, rotated());
});

test("every column that holds sealed values can be sealed anew: its table has a uuid, or a resource's", async () => {
  for (const { table, has_uuid } of await sealedColumns(db.database.kysely)) {
    const { rows } = await sql`select column_name from information_schema.columns
      where table_name = ${table} and column_name = 'resource_id'`.execute(db.database.kysely);
    expect([table, has_uuid || rows.length > 0]).toEqual([table, true]);
  }
});

test("a key is added to the file behind those it has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "berth-key-"));
  try {
    const path = join(folder, "secret.key");
    const [first] = await loadKeyFile(path);
    await addKey(path);
    const [same, second, ...others] = await loadKeyFile(path);
    expect([same, others]).toEqual([first, []]);
    expect(second).not.toEqual(first);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
