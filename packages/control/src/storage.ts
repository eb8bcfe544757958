import { DomainError, invalid, isDomainError, notFound } from "@berth/core";
import type { Page, Paging, ResourceRecord, StorageFields, StorageRecord, Stores } from "@berth/core/ports";
import type { ResourceKind, ResourceRef } from "@berth/core/resource";
import { isOnOwnMachine } from "@berth/core/server";
import {
  isServerData,
  newStorage,
  requireDeletable,
  STORAGES_MAX,
  type Storage,
  type StorageContainer,
  type StorageCreate,
  type StorageUpdate,
  storageChange,
  storageView,
} from "@berth/core/storage";
import { maySeeSecrets, requireAbility, requireOperator } from "@berth/core/team";
import { findResource, findResourceForUpdate, requireRoom, type UseCaseContext } from "./context.ts";
import { emitResourceEvent } from "./event.ts";
import { mapPage } from "./page.ts";

/** Persistent storages and files of a resource of any kind. Changes apply from its next deployment or start on. */
export function storages(context: UseCaseContext) {
  const { scope, stores, ids } = context;

  const viewOf =
    (owner: ResourceRecord, containers: readonly StorageContainer[]) =>
    (storage: StorageRecord): Storage =>
      storageView(storage, { owner, containers, maySeeSecrets: maySeeSecrets(scope) });

  async function find(tx: Stores, owner: ResourceRecord, { uuid, id }: StorageUpdate): Promise<StorageRecord> {
    const key = uuid === undefined ? { id: id ?? -1 } : { uuid };
    const storage = await tx.storages.find(owner.id, key);
    if (storage === undefined) throw notFound("Storage");
    return storage;
  }

  return {
    async list(ref: ResourceRef, paging: Paging): Promise<Page<Storage>> {
      requireAbility(scope, "read");
      const owner = await findResource(stores, ref);
      const containers = await containersOf(stores, owner);
      return mapPage(await stores.storages.list(owner.id, paging), viewOf(owner, containers));
    },

    /** @param containerUuid The container to mount it into, if the resource has several. */
    async create(ref: ResourceRef, sent: StorageCreate, containerUuid?: string): Promise<Storage> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owner = await findResourceForUpdate(tx, ref);
        await requireOwnStorages(tx, owner);
        const containers = await containersOf(tx, owner);
        const container = containerUuid === undefined ? undefined : containerOf(containers, containerUuid);
        const place = { resourceUuid: container?.uuid ?? owner.uuid, container: container?.name ?? null };
        const fields = newStorage(sent, place);
        await requireOneServer(tx, owner, fields);
        await requireFree(tx, owner, fields);
        await requireServerFolder(context, tx, owner, fields);
        const made = await tx.storages.insert(owner.id, ids.uuid(), fields).catch(explainTaken);
        await emitResourceEvent(tx, owner, "resource.storages_changed", { created: made.uuid });
        return viewOf(owner, containers)(made);
      });
    },

    /** The uuid or the number selects the storage. */
    async update(ref: ResourceRef, sent: StorageUpdate): Promise<Storage> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const owner = await findResourceForUpdate(tx, ref);
        const current = await find(tx, owner, sent);
        const change = storageChange(current, sent);
        if (change.name !== undefined && change.name !== current.name) {
          await requireFreeName(tx, owner, { ...current, ...change });
        }
        await requireServerFolder(context, tx, owner, change);
        const changed = await tx.storages.update(owner.id, current.uuid, change).catch(explainTaken);
        if (changed === undefined) throw notFound("Storage");
        await emitResourceEvent(tx, owner, "resource.storages_changed", { updated: changed.uuid });
        return viewOf(owner, await containersOf(tx, owner))(changed);
      });
    },

    /** Its data stays on the server until the resource itself is deleted. */
    async delete(ref: ResourceRef, storageUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const owner = await findResourceForUpdate(tx, ref);
        const { uuid } = requireDeletable(await find(tx, owner, { uuid: storageUuid }));
        if (!(await tx.storages.delete(owner.id, uuid))) throw notFound("Storage");
        await emitResourceEvent(tx, owner, "resource.storages_changed", { deleted: uuid });
      });
      return { message: "Storage deleted." };
    },
  };
}

/** Whether a resource's storages are all defined by its compose file, so that others cannot be added. */
const DEFINED_ELSEWHERE: { readonly [Kind in ResourceKind]?: (tx: Stores, uuid: string) => Promise<boolean> } = {
  application: async (tx, uuid) => (await tx.applications.find(uuid))?.settings.build_pack === "dockercompose",
};

async function requireOwnStorages(tx: Stores, { kind, uuid }: ResourceRecord): Promise<void> {
  if ((await DEFINED_ELSEWHERE[kind]?.(tx, uuid)) !== true) return;
  throw invalid({ _: ["The compose file names the storages of its containers. Add it there, then deploy."] });
}

/** Reads the containers, for kinds that have several. */
const CONTAINERS: {
  readonly [Kind in ResourceKind]?: (tx: Stores, id: number) => Promise<readonly StorageContainer[]>;
} = {
  service: (tx, id) => tx.services.containers([id]),
};

const containersOf = async (tx: Stores, { kind, id }: ResourceRecord) => (await CONTAINERS[kind]?.(tx, id)) ?? [];

function containerOf(containers: readonly StorageContainer[], uuid: string): StorageContainer {
  const container = containers.find((one) => one.uuid === uuid);
  if (container === undefined) throw notFound("Service resource");
  return container;
}

/** @throws DomainError `resource.state` for data of an application that several servers would have to share */
async function requireOneServer(tx: Stores, { id, name }: ResourceRecord, fields: StorageFields): Promise<void> {
  if (!isServerData(fields) || (await tx.applicationDestinations.list(id)).length === 0) return;
  const sentence = `Application ${name} is deployed to several servers, which cannot share its data. Detach the others first, or store the data in a database or an object storage.`;
  throw new DomainError("resource.state", sentence);
}

async function requireFree(tx: Stores, owner: ResourceRecord, fields: StorageFields): Promise<void> {
  requireRoom(await tx.storages.list(owner.id, { take: 0 }), STORAGES_MAX, "storages");
  await requireFreeName(tx, owner, fields);
}

async function requireFreeName(tx: Stores, owner: ResourceRecord, fields: StorageFields): Promise<void> {
  const { name, container } = fields;
  if (name === null) return;
  const holder = await tx.storages.find(owner.id, { name, container });
  if (holder !== undefined) throw invalid({ name: ["Another storage has this name. Choose another one."] });
}

/**
 * On Berth's own machine, only its operator may use folders that the engine mounts with more rights than the
 * resource's own user has.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only`, `engine.unreachable`
 */
async function requireServerFolder(
  { scope, engineFor }: UseCaseContext,
  tx: Stores,
  owner: ResourceRecord,
  { host_path, fs_path }: Partial<StorageFields>,
): Promise<void> {
  if ((host_path ?? fs_path ?? null) === null) return;
  const server = await tx.servers.findById(owner.server_id);
  if (server === undefined) throw notFound("Server");
  if (!isOnOwnMachine(server)) return;
  const { capabilities } = await engineFor(server);
  if (capabilities.privileged_mounts) requireOperator(scope);
}

function explainTaken(cause: unknown): never {
  if (!isDomainError(cause, "resource.already_exists")) throw cause;
  const sentence = "Another storage is mounted there. Choose another path.";
  throw new DomainError("request.invalid", sentence, { cause, fields: { mount_path: [sentence] } });
}
