import { DomainError, notFound } from "@berth/core";
import {
  type AttachedDestination,
  attachedDestinationView,
  type DestinationAttach,
  onlyDestination,
} from "@berth/core/application";
import type { ApplicationRecord, DestinationRecord, Page } from "@berth/core/ports";
import { requireAbility } from "@berth/core/team";
import { findApplication } from "./application.ts";
import { requireShareable } from "./application-server.ts";
import { findResourceForUpdate, type UseCaseContext } from "./context.ts";
import { findDestination } from "./destination.ts";
import { emitResourceEvent } from "./event.ts";
import { openLoopbackPorts } from "./loopback-port.ts";
import { keepingReferences } from "./lost-references.ts";
import { requireRunnable } from "./migrate.ts";
import { requireUsable } from "./placement.ts";
import { cancelDeployments } from "./removal.ts";

/** The servers that one application is deployed to. */
export function applicationDestinations(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    /** The primary one first. */
    async list(uuid: string): Promise<Page<AttachedDestination>> {
      requireAbility(scope, "read");
      const application = await findApplication(stores, uuid);
      const attached = await stores.applicationDestinations.list(application.id);
      const all = attached.length === 0 ? [onlyDestination(application)] : attached;
      const serverIds = all.map(({ server_id }) => server_id);
      const newest = new Map(
        (await stores.deployments.newestOn(application.id, serverIds)).map((one) => [one.server_id, one]),
      );
      const items = all.map((one) =>
        attachedDestinationView(one, application.destination_id, newest.get(one.server_id)),
      );
      return { items, total: items.length };
    },

    /**
     * It is deployed there with its next deployment.
     *
     * @throws DomainError `resource.not_found`, `destination.refused`, `resource.state`, `engine.unsupported`
     */
    async attach(uuid: string, { destination_uuid }: DestinationAttach): Promise<{ message: string; uuid: string }> {
      requireAbility(scope, "write");
      const application = await findApplication(stores, uuid);
      const destination = await findDestination(stores, destination_uuid);
      requireOtherServer(application, destination);
      const server = await stores.servers.findById(destination.server_id);
      if (server === undefined) throw notFound("Destination");
      await requireUsable(stores, server);
      await requireRunnable(context, application, server);
      await stores.transaction(async (tx) => {
        await findResourceForUpdate(tx, { kind: "application", uuid });
        const current = await findApplication(tx, uuid);
        requireOtherServer(current, destination);
        await requireShareable(tx, current);
        const change = async () => {
          if (!(await tx.applicationDestinations.attach(current.id, destination.id)))
            throw refused("Destination is already attached.");
          const values = (await tx.envs.list(current.id)).items.map(({ value }) => value);
          await openLoopbackPorts(tx, current, values, server.id);
        };
        const place = `server ${server.name}`;
        const remedy = "Add it there or change the variables first.";
        await keepingReferences(tx, current, change, { place, remedy, serverId: server.id });
        await emitResourceEvent(tx, current, "resource.destinations_changed", { attached: server.name });
      });
      return { message: "Destination attached.", uuid: destination.uuid };
    },

    /**
     * Deployments to its server end. What runs there is removed once the application runs on its primary server.
     * @throws DomainError `resource.not_found`, `destination.refused`
     */
    async detach(uuid: string, destinationUuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const { id } = await findResourceForUpdate(tx, { kind: "application", uuid });
        const current = await findApplication(tx, uuid);
        const destination = await findDestination(tx, destinationUuid);
        if (destination.id === current.destination_id) throw refused("Cannot remove the primary destination.");
        if (!(await tx.applicationDestinations.detach(id, destination.id))) throw notFound("Destination");
        await cancelDeployments(
          tx,
          ({ resource_id, server_id }) => resource_id === id && server_id === destination.server_id,
        );
        const server = await tx.servers.findById(destination.server_id);
        await emitResourceEvent(tx, current, "resource.destinations_changed", { detached: server?.name });
      });
      return { message: "Destination detached." };
    },
  };
}

/** A refusal with the words of the API family, which name the field too. */
const refused = (sentence: string) =>
  new DomainError("destination.refused", sentence, { fields: { destination_uuid: [sentence] } });

function requireOtherServer(application: ApplicationRecord, destination: DestinationRecord): void {
  if (destination.id === application.destination_id) throw refused("Destination is already the primary destination.");
  if (destination.server_id !== application.server_id) return;
  throw refused(`Destination is on the primary server ${application.placement.server_name}. Choose another server.`);
}
