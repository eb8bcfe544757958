import { randomUUID } from "node:crypto";
import { DomainError } from "@berth/core";
import type { Cipher } from "./cipher.ts";
import type { Database } from "./client.ts";

const KEY_CHECK = "key_check";
const PLACE = "setting key_check";

/**
 * Checks at the start that the key is the one this database was written with. A control plane with another key file, or
 * a database restored without its key file, would otherwise write values that nobody else can read.
 *
 * @throws DomainError `setup.failed`
 */
export async function requireKey({ kysely }: Database, cipher: Cipher): Promise<void> {
  const fresh = Buffer.from(cipher.seal(randomUUID(), PLACE)).toString("base64");
  await kysely
    .insertInto("setting")
    .values({ key: KEY_CHECK, value: JSON.stringify(fresh) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom("setting")
    .select("value")
    .where("key", "=", KEY_CHECK)
    .executeTakeFirstOrThrow();
  try {
    cipher.open(Buffer.from(String(value), "base64"), PLACE);
  } catch (cause) {
    throw new DomainError(
      "setup.failed",
      "The key file is not the one that this database's secrets were written with. Put back the old key file, or copy it from the other server.",
      { cause },
    );
  }
}

/** Encrypted with the newest key, so that a start with an older key file is refused. */
export async function resealKeyCheck({ kysely }: Pick<Database, "kysely">, cipher: Cipher): Promise<void> {
  const fresh = Buffer.from(cipher.seal(randomUUID(), PLACE)).toString("base64");
  await kysely
    .updateTable("setting")
    .set({ value: JSON.stringify(fresh) })
    .where("key", "=", KEY_CHECK)
    .execute();
}
