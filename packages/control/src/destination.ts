import { DomainError, invalid, notFound } from "@berth/core";
import type { DestinationRecord, Page, Paging, Stores } from "@berth/core/ports";
import {
  type Destination,
  type DestinationCreate,
  type DestinationUpdate,
  destinationType,
  destinationView,
} from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { NAMED_TAKE, namedResources } from "./named-resources.ts";
import { mapPage } from "./page.ts";
import { findServer, requireStaying } from "./server.ts";

/** @throws DomainError `resource.not_found` */
export async function findDestination(stores: Stores, uuid: string): Promise<DestinationRecord> {
  const destination = await stores.destinations.find(uuid);
  if (destination === undefined) throw notFound("Destination");
  return destination;
}

/** Networks of servers, which resources are deployed to. */
export function destinations({ scope, stores, ids }: UseCaseContext) {
  const emit = (tx: Stores, { uuid, name }: DestinationRecord, change: "created" | "updated" | "deleted") =>
    tx.events.append({ type: `destination.${change}`, resource_uuid: uuid, payload: { name } });

  return {
    async list(paging: Paging): Promise<Page<Destination>> {
      requireAbility(scope, "read");
      return mapPage(await stores.destinations.list({}, paging), destinationView);
    },

    async listOfServer(serverUuid: string, paging: Paging): Promise<Page<Destination>> {
      requireAbility(scope, "read");
      const server = await findServer(stores, serverUuid);
      return mapPage(await stores.destinations.list({ server_id: server.id }, paging), destinationView);
    },

    async get(uuid: string): Promise<Destination> {
      requireAbility(scope, "read");
      return destinationView(await findDestination(stores, uuid));
    },

    /** @throws DomainError `request.invalid`, `resource.already_exists`, `resource.state` */
    async create(serverUuid: string, sent: DestinationCreate): Promise<Destination> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const server = await findServer(tx, serverUuid);
        requireStaying(server);
        const type = destinationType(server.engine);
        if (sent.type && sent.type !== type) throw invalid({ type: [`The destinations of this server are ${type}.`] });
        const destination = await tx.destinations.insert({
          uuid: ids.uuid(),
          server_id: server.id,
          name: sent.name ?? sent.network,
          network: sent.network,
        });
        await emit(tx, destination, "created");
        return destinationView(destination);
      });
    },

    async update(uuid: string, { name }: DestinationUpdate): Promise<Destination> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        const destination = await tx.destinations.update(uuid, { name });
        if (destination === undefined) throw notFound("Destination");
        await emit(tx, destination, "updated");
        return destinationView(destination);
      });
    },

    /** @throws DomainError `destination.in_use` */
    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const destination = await findDestination(tx, uuid);
        await requireUnused(tx, destination);
        // The foreign key refuses the deletion if a resource was created on it meanwhile.
        if (!(await tx.destinations.deleteIfUnused(destination.id))) throw inUse("a resource");
        await emit(tx, destination, "deleted");
      });
      return { message: "Deleted." };
    },
  };
}

async function requireUnused(tx: Stores, { id }: DestinationRecord): Promise<void> {
  const users = await tx.destinations.users(id, NAMED_TAKE);
  if (users.length > 0) throw inUse(namedResources(users));
}

const inUse = (users: string) =>
  new DomainError("destination.in_use", `Destination has resources, so it is in use: ${users}. Delete them first.`);
