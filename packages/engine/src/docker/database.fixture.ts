import { randomBytes } from "node:crypto";
import {
  type DatabaseCreate,
  type DatabaseEngine,
  databaseEngine,
  databaseUrls,
  fieldValues,
  newDatabase,
} from "@berth/core/database";
import { databaseSpec, type ReleaseSpec } from "@berth/core/deploy";
import { newEnv } from "@berth/core/env";
import type { DatabaseRecord, StorageRecord } from "@berth/core/ports";

const uuid = () => randomBytes(8).toString("hex");
const TIMES = { created_at: new Date(0), updated_at: new Date(0) };

/** Releases of one database with this image. @param changed Variables set by its owner. */
export function databaseReleases(
  engine: DatabaseEngine,
  image: string,
  sent: object = {},
  changed: Readonly<Record<string, string>> = {},
) {
  const own = uuid();
  const made = newDatabase(engine, sent as DatabaseCreate, () => `p-${uuid()}`);
  const database = {
    ...{ id: 1, uuid: own, kind: "database", name: "orders", engine, is_public: false, public_port: null },
    ...{ settings: { ...made.settings, image, health_check_interval: 1 }, fields: made.fields },
    placement: { server_ip: "127.0.0.1" },
    // Only the fields that a release is derived from.
  } as unknown as DatabaseRecord;
  const variables = { ...made.variables, ...changed };
  const envs = Object.entries(variables).map(([key, value]) => ({
    id: 1,
    uuid: key,
    ...newEnv({ key, value }),
    ...TIMES,
  }));
  const data = persistent(own, databaseEngine(engine).dataPath);
  return {
    uuid: own,
    url: databaseUrls(database, fieldValues(engine, { ...made.secrets, ...variables })).internal_db_url,
    /** The next release, as a deployment would start it. */
    next: (storages: readonly StorageRecord[] = []): ReleaseSpec =>
      databaseSpec(
        { database, secrets: made.secrets, deployment: { uuid: uuid() }, envs, storages: [data, ...storages] },
        { type: "image", image },
      ),
  };
}

const persistent = (of: string, mount_path: string): StorageRecord => ({
  ...{ id: 1, uuid: uuid(), type: "persistent", name: `${of}-data`, mount_path },
  ...{ host_path: null, fs_path: null, content: null, is_directory: false, is_preview_suffix_enabled: false },
  ...{ container: null, is_managed: true, is_read_only: false, has_volume: false },
  ...TIMES,
});

export const script = (mount_path: string, content: string): StorageRecord => ({
  ...persistent("", mount_path),
  ...{ type: "file", name: null, content, is_managed: false },
});
