import { DomainError, notFound } from "@berth/core";
import type { StorageKey, StorageRecord, StorageStore } from "@berth/core/ports";
import { type Selectable, sql } from "kysely";
import { isId, type StoreContext, type TeamContext } from "./context.ts";
import { violates } from "./errors.ts";
import { countRows, page, within } from "./page.ts";
import { pick } from "./pick.ts";
import type { DB } from "./schema.ts";

const FIELDS = [
  "type",
  "name",
  "mount_path",
  "host_path",
  "fs_path",
  "is_directory",
  "is_preview_suffix_enabled",
  "container",
  "is_managed",
  "is_read_only",
] as const;

const COLUMNS = [
  "storage.id",
  "storage.uuid",
  "storage.content",
  "storage.has_volume",
  ...FIELDS.map((field) => `storage.${field}` as const),
  "storage.created_at",
  "storage.updated_at",
] as const;

type StorageRow = Omit<Selectable<DB["storage"]>, "resource_id">;

const place = (uuid: string) => `storage ${uuid} content`;
const seal = ({ cipher }: StoreContext, uuid: string, content: string | null) =>
  content === null ? null : cipher.seal(content, place(uuid));
const record = ({ cipher }: StoreContext, row: StorageRow): StorageRecord => ({
  ...row,
  content: row.content === null ? null : cipher.open(row.content, place(row.uuid)),
});

export function storageStore(context: TeamContext): StorageStore {
  const { db, teamId } = context;
  const ownResource = (resourceId: number) =>
    db.selectFrom("resource").select("resource.id").where("id", "=", resourceId).where("team_id", "=", teamId);
  const ofResource = (resourceId: number) =>
    db.selectFrom("storage").where("storage.resource_id", "in", ownResource(resourceId));
  return {
    list: (resourceId, paging = {}) =>
      page(
        paging,
        async (window) => {
          const isFile = sql<boolean>`storage.type = 'file'`;
          const query = ofResource(resourceId).select(COLUMNS).orderBy(isFile).orderBy("storage.id");
          return (await within(query, window).execute()).map((row) => record(context, row));
        },
        () => countRows(ofResource(resourceId)),
      ),
    async find(resourceId, key) {
      const row = await ofResource(resourceId).select(COLUMNS).where(isChosen(key)).executeTakeFirst();
      return row && record(context, row);
    },
    async insert(resourceId, uuid, { content, ...fields }) {
      const owner = await ownResource(resourceId).executeTakeFirst();
      if (owner === undefined) throw notFound("Resource");
      const row = await db
        .insertInto("storage")
        .values({ ...pick(fields, FIELDS), uuid, resource_id: owner.id, content: seal(context, uuid, content) })
        // An error would abort the caller's transaction.
        .onConflict((conflict) =>
          conflict.expression(sql`resource_id, coalesce(container, ''), mount_path`).doNothing(),
        )
        .returning(COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw taken(fields.mount_path);
      return record(context, row);
    },
    async update(resourceId, uuid, { content, ...fields }) {
      const write = db
        .updateTable("storage")
        .set({
          ...pick(fields, FIELDS),
          updated_at: sql<Date>`now()`,
          ...(content === undefined ? {} : { content: seal(context, uuid, content) }),
        })
        .where("uuid", "=", uuid)
        .where("resource_id", "in", ownResource(resourceId))
        .returning(COLUMNS);
      const row = await write.executeTakeFirst().catch((error: unknown) => {
        throw violates(error, "storage_mount_path") ? taken(fields.mount_path, error) : error;
      });
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
    async recordVolumes(resourceId, uuids, hasVolume = true) {
      await db
        .updateTable("storage")
        .set({ has_volume: hasVolume })
        .where("uuid", "in", uuids.length === 0 ? [""] : [...uuids])
        .where("resource_id", "in", ownResource(resourceId))
        .execute();
    },
    async ownersAmong(uuids) {
      if (uuids.length === 0) return new Map();
      const found = await db
        .selectFrom("storage")
        .innerJoin("resource", "resource.id", "storage.resource_id")
        .select(["storage.uuid", "resource.uuid as owner"])
        .where("resource.team_id", "=", teamId)
        .where(sql<boolean>`storage.uuid = any(${[...new Set(uuids)]}::text[])`)
        .execute();
      return new Map(found.map(({ uuid, owner }) => [uuid, owner]));
    },
  };
}

function isChosen(key: StorageKey) {
  if ("uuid" in key) return sql<boolean>`storage.uuid = ${key.uuid}`;
  if ("id" in key) return sql<boolean>`storage.id = ${isId(key.id) ? key.id : -1}`;
  return sql<boolean>`storage.name = ${key.name} and storage.container is not distinct from ${key.container}`;
}

const taken = (mountPath: string | undefined, cause?: unknown) =>
  new DomainError(
    "resource.already_exists",
    `Another storage is already mounted at ${mountPath}. Choose another path.`,
    {
      cause,
    },
  );
