import { invalid, notFound } from "@berth/core";
import type { ServerRecord, Stores } from "@berth/core/ports";
import {
  hasLogDrain,
  type LogDrains,
  type LogDrainsUpdate,
  logDrainsAfter,
  logDrainsView,
  NO_LOG_DRAIN_SECRETS,
} from "@berth/core/server";
import { maySeeSecrets, requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { findServer, requireStaying } from "./server.ts";

/** Where the log lines of a server's resources are delivered. The worker delivers them. */
export function logDrains(context: UseCaseContext) {
  const { scope, stores } = context;

  const shown = async (tx: Stores, server: ServerRecord): Promise<LogDrains> => {
    const secrets = maySeeSecrets(scope)
      ? ((await tx.logDrains.secrets(server.id)) ?? NO_LOG_DRAIN_SECRETS)
      : undefined;
    return logDrainsView(server, secrets);
  };

  return {
    async get(uuid: string): Promise<LogDrains> {
      requireAbility(scope, "read");
      return await shown(stores, await findServer(stores, uuid));
    },

    /** @throws DomainError `request.invalid` for two log drains at once, or one that lacks a value; `resource.state` */
    async update(uuid: string, sent: LogDrainsUpdate): Promise<LogDrains> {
      requireAbility(scope, "write");
      return await stores.transaction(async (tx) => {
        // Concurrent changes would each keep the flags of the other.
        const server = await tx.servers.findForUpdate(uuid);
        if (server === undefined) throw notFound("Server");
        requireStaying(server);
        const secrets = (await tx.logDrains.secrets(server.id)) ?? NO_LOG_DRAIN_SECRETS;
        const change = logDrainsAfter({ settings: server.settings, secrets }, sent);
        if (Object.keys(change.problems).length > 0) throw invalid(change.problems);
        await tx.logDrains.save(server.id, change.secrets);
        if (hasLogDrain(change.settings) !== hasLogDrain(server.settings)) await tx.logDrains.restart(server.id);
        const updated = await tx.servers.update(uuid, { settings: change.settings });
        if (updated === undefined) throw notFound("Server");
        await tx.events.append({ type: "server.updated", resource_uuid: uuid, payload: {} });
        return await shown(tx, updated);
      });
    },
  };
}
