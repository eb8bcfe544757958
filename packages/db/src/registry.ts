import type { RegistryStore } from "@berth/core/ports";
import { sql } from "kysely";
import { idsOf, inTransaction, type TeamContext } from "./context.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { pick } from "./pick.ts";

const FIELDS = ["name", "description", "address", "username"] as const;
const COLUMNS = [
  "registry.id",
  "registry.uuid",
  "registry.team_id",
  ...FIELDS.map((field) => `registry.${field}` as const),
  "registry.created_at",
  "registry.updated_at",
] as const;

/** Encrypted for its row: a value copied to another row cannot be decrypted. */
const place = (uuid: string) => `registry ${uuid} password`;

/** Replaces a password that was for another address. Real passwords are never empty. */
const DROPPED = "";

export function registryStore(context: TeamContext): RegistryStore {
  const { db, teamId, cipher } = context;
  const own = () => db.selectFrom("registry").where("registry.team_id", "=", teamId);
  return {
    list: (paging = {}) =>
      page(
        paging,
        (window) => {
          const owned = { owner: "registry.team_id", is: teamId, id: "registry.id" } as const;
          return within(ofOwner(db.selectFrom("registry").select(COLUMNS), owned), window).execute();
        },
        () => countRows(own()),
      ),
    find: (uuid) => own().select(COLUMNS).where("uuid", "=", uuid).executeTakeFirst(),
    insert: (uuid, { password, ...fields }) =>
      db
        .insertInto("registry")
        .values({ ...pick(fields, FIELDS), uuid, team_id: teamId, password: cipher.seal(password, place(uuid)) })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow(),
    update: (uuid, change) => inTransaction(context, (tx) => update(tx, uuid, change)),
    async passwordsOf(ids) {
      const rows = await own().select(["id", "uuid", "password"]).where("id", "in", idsOf(ids)).execute();
      const opened = rows.map(({ id, uuid, password }) => [id, cipher.open(password, place(uuid))] as const);
      return new Map(opened.filter(([, password]) => password !== DROPPED));
    },
    async logins() {
      const rows = await own().select(["uuid", "address", "username", "password"]).orderBy("id").execute();
      return rows
        .map(({ uuid, password, ...login }) => ({ ...login, password: cipher.open(password, place(uuid)) }))
        .filter(({ password }) => password !== DROPPED);
    },
    async delete(uuid) {
      const { numDeletedRows } = await db
        .deleteFrom("registry")
        .where("team_id", "=", teamId)
        .where("uuid", "=", uuid)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },
  };
}

async function update(
  { db, teamId, cipher }: TeamContext,
  uuid: string,
  { password, ...fields }: Parameters<RegistryStore["update"]>[1],
): ReturnType<RegistryStore["update"]> {
  const before = await db
    .selectFrom("registry")
    .select(["address", "password"])
    .where("team_id", "=", teamId)
    .where("uuid", "=", uuid)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (before === undefined) return undefined;
  const isMoved = fields.address !== undefined && fields.address !== before.address;
  const next = password ?? (isMoved ? DROPPED : cipher.open(before.password, place(uuid)));
  const row = await db
    .updateTable("registry")
    .set({
      ...pick(fields, FIELDS),
      password: cipher.seal(next, place(uuid)),
      updated_at: sql<Date>`now()`,
    })
    .where("team_id", "=", teamId)
    .where("uuid", "=", uuid)
    .returning(COLUMNS)
    .executeTakeFirst();
  return row && { ...row, isCredentialDropped: next === DROPPED };
}
