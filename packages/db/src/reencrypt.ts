import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { type Kysely, sql } from "kysely";
import { type Cipher, loadKeyFile } from "./cipher.ts";
import type { Database } from "./client.ts";
import { wrapDatabaseError } from "./errors.ts";
import { resealKeyCheck } from "./key-check.ts";
import type { DB } from "./schema.ts";

const BATCH_ROWS = 500;
const KEY_BYTES = 32;

/**
 * Appends a random key to the key file: the next start encrypts with it, and older keys still decrypt. The file is
 * replaced as a whole, so that a crash leaves the old one or the new one.
 *
 * @throws DomainError `setup.failed`
 */
export async function addKey(path: string): Promise<void> {
  const keys = [...(await loadKeyFile(path)), randomBytes(KEY_BYTES)];
  const temporary = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    const file = await open(temporary, "wx", 0o600);
    try {
      await file.writeFile(keys.map((key) => `${Buffer.from(key).toString("base64")}\n`).join(""));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

interface SealedColumn {
  readonly table: string;
  readonly column: string;
  /** Values of the table belong to its own uuid; those of a kind's table to the uuid of the resource. */
  readonly has_uuid: boolean;
}

/**
 * Encrypts values of older keys again, with the newest key. Every `bytea` column has encrypted values, each for the
 * place `table uuid column`. It may be interrupted and run again.
 *
 * @returns Number of changed values.
 */
export async function reencrypt({ kysely }: Pick<Database, "kysely">, cipher: Cipher): Promise<number> {
  try {
    await resealKeyCheck({ kysely }, cipher);
    let count = 0;
    for (const column of await sealedColumns(kysely)) count += await reencryptColumn(kysely, cipher, column);
    return count;
  } catch (error) {
    throw wrapDatabaseError(error);
  }
}

/** Read from the database itself, so that a column added later is never missed. */
export async function sealedColumns(kysely: Kysely<DB>): Promise<readonly SealedColumn[]> {
  const { rows } = await sql<SealedColumn>`select table_name as "table", column_name as "column",
      exists (select from information_schema.columns own
        where own.table_schema = 'public' and own.table_name = sealed.table_name and own.column_name = 'uuid') as has_uuid
    from information_schema.columns sealed
    where table_schema = 'public' and data_type = 'bytea' order by 1, 2`.execute(kysely);
  return rows;
}

async function reencryptColumn(kysely: Kysely<DB>, cipher: Cipher, sealed: SealedColumn): Promise<number> {
  let count = 0;
  for (;;) {
    const done = await kysely.transaction().execute((db) => reencryptBatch(db, cipher, sealed));
    count += done;
    if (done < BATCH_ROWS) return count;
  }
}

async function reencryptBatch(db: Kysely<DB>, cipher: Cipher, sealed: SealedColumn): Promise<number> {
  const table = sql.table(sealed.table);
  const column = sql.ref(sealed.column);
  const uuid = sealed.has_uuid
    ? sql`t.uuid`
    : sql`(select resource.uuid from resource where resource.id = t.resource_id)`;
  // The first byte is the key's version. The row is identified by its physical place, which is stable within the
  // transaction.
  const { rows } = await sql<{ at: string; uuid: string; value: Uint8Array }>`
    select t.ctid::text as at, ${uuid} as uuid, t.${column} as value from ${table} t
    where length(t.${column}) > 0 and get_byte(t.${column}, 0) <> ${cipher.newestVersion}
    limit ${BATCH_ROWS} for update of t`.execute(db);
  for (const { at, uuid: name, value } of rows) {
    const place = `${sealed.table} ${name} ${sealed.column}`;
    const fresh = cipher.seal(cipher.open(value, place), place);
    await sql`update ${table} set ${column} = ${fresh} where ctid = ${at}::tid`.execute(db);
  }
  return rows.length;
}
