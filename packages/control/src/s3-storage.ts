import { type ChangedCredential, DomainError, notFound } from "@berth/core";
import {
  bucketProblem,
  type S3Storage,
  type S3StorageCreate,
  type S3StorageUpdate,
  type S3StorageValidity,
  s3StorageView,
} from "@berth/core/backup";
import type { Page, Paging, S3StorageRecord, Stores } from "@berth/core/ports";
import { maySeeSecrets, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** @throws DomainError `resource.not_found` */
async function findS3Storage(stores: Stores, uuid: string): Promise<S3StorageRecord> {
  const storage = await stores.s3Storages.find(uuid);
  if (storage === undefined) throw notFound(THING);
  return storage;
}

/** Buckets that backups are uploaded to. */
export function s3Storages({ scope, stores, ids, objectStorage }: UseCaseContext) {
  async function views(storages: readonly S3StorageRecord[]): Promise<S3Storage[]> {
    const isOpen = maySeeSecrets(scope) && storages.length > 0;
    const credentials = isOpen ? await stores.s3Storages.credentialsOf(storages.map(({ id }) => id)) : undefined;
    return storages.map((storage) => s3StorageView(storage, credentials?.get(storage.id)));
  }

  return {
    async list(paging: Paging): Promise<Page<S3Storage>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.s3Storages.list(paging);
      return { items: await views(items), total };
    },

    async get(uuid: string): Promise<S3Storage> {
      requireAbility(scope, "read");
      const [view] = await views([await findS3Storage(stores, uuid)]);
      if (view === undefined) throw notFound(THING);
      return view;
    },

    async create({ description = null, is_usable = false, ...sent }: S3StorageCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const { uuid, name } = await tx.s3Storages.insert(ids.uuid(), { ...sent, description, is_usable });
        await tx.events.append({ type: "s3_storage.created", resource_uuid: uuid, payload: { name } });
        return { uuid };
      });
    },

    async update(uuid: string, change: S3StorageUpdate): Promise<ChangedCredential> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const changed = await tx.s3Storages.update(uuid, change);
        if (changed === undefined) throw notFound(THING);
        await tx.events.append({
          type: "s3_storage.updated",
          resource_uuid: uuid,
          payload: { name: changed.name, fields: Object.keys(change).sort() },
        });
        return changed.isCredentialDropped ? { uuid, message: credentialMissing(changed) } : { uuid };
      });
    },

    /** Tests the bucket now, and stores the result in `is_usable`. */
    async validate(uuid: string): Promise<S3StorageValidity> {
      requireAbility(scope, "write");
      const storage = await findS3Storage(stores, uuid);
      const credentials = (await stores.s3Storages.credentialsOf([storage.id])).get(storage.id);
      if (credentials === undefined) return { valid: false, message: credentialMissing(storage) };
      const problem = await bucketProblem(objectStorage(storage, credentials), {
        key: `berth-validation-${ids.uuid()}`,
        content: new TextEncoder().encode(ids.secret(PROBE_LENGTH)),
        signal: AbortSignal.timeout(PROBE_MS_MAX),
      });
      const valid = problem === undefined;
      await stores.transaction(async (tx) => {
        if ((await tx.s3Storages.update(uuid, { is_usable: valid })) === undefined) throw notFound(THING);
        await tx.events.append({
          type: "s3_storage.validated",
          resource_uuid: uuid,
          payload: { name: storage.name, valid },
        });
      });
      return { valid, message: problem ?? "An object was written, read back and deleted." };
    },

    /** @throws DomainError `resource.in_use` */
    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const { name } = await findS3Storage(tx, uuid);
        if (!(await tx.s3Storages.deleteIfUnused(uuid))) throw inUse();
        await tx.events.append({ type: "s3_storage.deleted", resource_uuid: uuid, payload: { name } });
      });
      return { message: "S3 storage deleted." };
    },
  };
}

const THING = "S3 storage";

const credentialMissing = ({ endpoint }: S3StorageRecord) =>
  `The key and secret were for another address and are removed. Send key and secret for ${endpoint}.`;
const PROBE_LENGTH = 64;
const PROBE_MS_MAX = 20_000;

const inUse = () =>
  new DomainError(
    "resource.in_use",
    "S3 storage is in use by backups of databases. Change or delete these backups first.",
  );
