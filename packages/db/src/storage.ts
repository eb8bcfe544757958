import { notFound, type StorageRecord, type StorageStore } from "@berth/core";
import { type Selectable, sql } from "kysely";
import type { Context, TeamContext } from "./context.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";

const COLUMNS = [
  "storage.id",
  "storage.uuid",
  "storage.type",
  "storage.name",
  "storage.mount_path",
  "storage.host_path",
  "storage.content",
  "storage.is_directory",
  "storage.is_preview_suffix_enabled",
  "storage.created_at",
  "storage.updated_at",
] as const;

const FIELDS = ["type", "name", "mount_path", "host_path", "is_directory", "is_preview_suffix_enabled"] as const;

type StorageRow = Omit<Selectable<DB["storage"]>, "resource_id">;

const place = (uuid: string) => `storage ${uuid} content`;
const seal = ({ cipher }: Context, uuid: string, content: string | null) =>
  content === null ? null : cipher.seal(content, place(uuid));
const record = ({ cipher }: Context, row: StorageRow): StorageRecord => ({
  ...row,
  content: row.content === null ? null : cipher.open(row.content, place(row.uuid)),
});

export function storageStore(context: TeamContext): StorageStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const ofResource = (resourceId: number) =>
    db.selectFrom("storage").select(COLUMNS).where("storage.resource_id", "in", ownResource(resourceId));
  return {
    list: async (resourceId) =>
      (await ofResource(resourceId).orderBy("storage.id").execute()).map((row) => record(context, row)),
    async find(resourceId, uuid) {
      const row = await ofResource(resourceId).where("storage.uuid", "=", uuid).executeTakeFirst();
      return row && record(context, row);
    },
    async insert(resourceId, uuid, { content, ...fields }) {
      const owner = await ownResource(resourceId).executeTakeFirst();
      if (owner === undefined) throw notFound("Resource");
      const row = await db
        .insertInto("storage")
        .values({ ...pick(fields, FIELDS), uuid, resource_id: owner.id, content: seal(context, uuid, content) })
        .returning(COLUMNS)
        .executeTakeFirstOrThrow();
      return record(context, row);
    },
    async update(resourceId, uuid, { content, ...fields }) {
      const row = await db
        .updateTable("storage")
        .set({
          ...pick(fields, FIELDS),
          updated_at: sql<Date>`now()`,
          ...(content === undefined ? {} : { content: seal(context, uuid, content) }),
        })
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .returning(COLUMNS)
        .executeTakeFirst();
      return row && record(context, row);
    },
    async delete(resourceId, uuid) {
      const deleted = await db
        .deleteFrom("storage")
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .executeTakeFirst();
      return deleted.numDeletedRows > 0n;
    },
  };
}
