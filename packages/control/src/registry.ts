import { type ChangedCredential, DomainError, isDomainError, notFound } from "@berth/core";
import type { Page, Paging, RegistryRecord, Stores } from "@berth/core/ports";
import { type Registry, type RegistryCreate, type RegistryUpdate, registryView } from "@berth/core/server";
import { maySeeSecrets, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";

/** @throws DomainError `resource.not_found` */
async function findRegistry(stores: Stores, uuid: string): Promise<RegistryRecord> {
  const registry = await stores.registries.find(uuid);
  if (registry === undefined) throw notFound(THING);
  return registry;
}

/** Logins for image registries, which all servers of the team use. */
export function registries({ scope, stores, ids }: UseCaseContext) {
  async function views(records: readonly RegistryRecord[]): Promise<Registry[]> {
    const isOpen = maySeeSecrets(scope) && records.length > 0;
    const passwords = isOpen ? await stores.registries.passwordsOf(records.map(({ id }) => id)) : undefined;
    return records.map((record) => registryView(record, passwords?.get(record.id)));
  }

  return {
    async list(paging: Paging): Promise<Page<Registry>> {
      requireAbility(scope, "read");
      const { items, total } = await stores.registries.list(paging);
      return { items: await views(items), total };
    },

    async get(uuid: string): Promise<Registry> {
      requireAbility(scope, "read");
      const [view] = await views([await findRegistry(stores, uuid)]);
      if (view === undefined) throw notFound(THING);
      return view;
    },

    /** @throws DomainError `resource.already_exists` */
    async create({ description = null, name, ...sent }: RegistryCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const fields = { ...sent, name: name ?? sent.address, description };
        const { uuid, address } = await unlessTaken(tx.registries.insert(ids.uuid(), fields));
        await tx.events.append({ type: "registry.created", resource_uuid: uuid, payload: { address } });
        return { uuid };
      });
    },

    /** @throws DomainError `resource.already_exists` */
    async update(uuid: string, change: RegistryUpdate): Promise<ChangedCredential> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const changed = await unlessTaken(tx.registries.update(uuid, change));
        if (changed === undefined) throw notFound(THING);
        await tx.events.append({
          type: "registry.updated",
          resource_uuid: uuid,
          payload: { address: changed.address, fields: Object.keys(change).sort() },
        });
        return changed.isCredentialDropped ? { uuid, message: passwordDropped(changed) } : { uuid };
      });
    },

    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const { address } = await findRegistry(tx, uuid);
        if (!(await tx.registries.delete(uuid))) throw notFound(THING);
        await tx.events.append({ type: "registry.deleted", resource_uuid: uuid, payload: { address } });
      });
      return { message: "Registry deleted." };
    },
  };
}

const THING = "Registry";

const passwordDropped = ({ address }: RegistryRecord) =>
  `The password was for another address and is removed. Send password for ${address}; until then images are pulled without it.`;

async function unlessTaken<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (!isDomainError(cause, "resource.already_exists")) throw cause;
    const message = "The team has a login for this registry already. Change that one.";
    throw new DomainError("resource.already_exists", message, { cause, fields: { address: [message] } });
  }
}
