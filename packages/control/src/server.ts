import {
  DomainError,
  invalid,
  notFound,
  type Page,
  type Paging,
  requireAbility,
  type Server,
  type ServerRecord,
  type ServerResource,
  type ServerUpdate,
  type Stores,
  serverResourceView,
  serverSettingsChange,
  serverView,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

/** @throws DomainError `resource.not_found` */
export async function findServer(stores: Stores, uuid: string): Promise<ServerRecord> {
  const server = await stores.servers.find(uuid);
  if (server === undefined) throw notFound("Server");
  return server;
}

export function servers({ scope, stores }: UseCaseContext) {
  return {
    async list(paging: Paging): Promise<Page<Server>> {
      requireAbility(scope, "read");
      return mapPage(await stores.servers.list(paging), (server) => serverView(server));
    },

    async get(uuid: string, { resources = false }: { resources?: boolean | undefined } = {}): Promise<Server> {
      requireAbility(scope, "read");
      const server = await findServer(stores, uuid);
      if (!resources) return serverView(server);
      const { items } = await stores.resources.list({ server_id: server.id });
      return serverView(server, items);
    },

    async resources(uuid: string, paging: Paging): Promise<Page<ServerResource>> {
      requireAbility(scope, "read");
      const server = await findServer(stores, uuid);
      return mapPage(await stores.resources.list({ server_id: server.id }, paging), serverResourceView);
    },

    async update(uuid: string, sent: ServerUpdate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      // There are no keys yet, so none can be found.
      if (typeof sent.private_key_uuid === "string") throw notFound("Private key");
      await stores.transaction(async (inside) => {
        const server = await findServer(inside, uuid);
        refuseForLocal(server, sent);
        await inside.servers.update(uuid, {
          name: sent.name ?? server.name,
          description: sent.description === undefined ? server.description : sent.description,
          ip: sent.ip ?? server.ip,
          port: sent.port ?? server.port,
          user: sent.user ?? server.user,
          proxy_type: sent.proxy_type ?? server.proxy_type,
          settings: { ...server.settings, ...serverSettingsChange(sent) },
        });
        await inside.events.append({ type: "server.updated", resource_uuid: uuid, payload: {} });
      });
      return { uuid };
    },
  };
}

/** The machine that Berth runs on is reached by no address and has Berth's own proxy. */
function refuseForLocal(server: ServerRecord, sent: ServerUpdate): void {
  if (server.engine !== "process") return;
  const fields = (["ip", "port", "user"] as const).filter((field) => (sent[field] ?? server[field]) !== server[field]);
  if (fields.length > 0) {
    throw invalid(
      Object.fromEntries(fields.map((field) => [field, ["This server is the machine that Berth runs on."]])),
    );
  }
  if (sent.proxy_type && sent.proxy_type !== server.proxy_type.toLowerCase()) {
    throw new DomainError("engine.unsupported", "Validation failed.", {
      fields: { proxy_type: ["This server runs Berth's own proxy, which cannot be replaced."] },
    });
  }
}
