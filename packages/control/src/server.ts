import { DomainError, invalid, notFound } from "@berth/core";
import { splitUrls } from "@berth/core/application";
import { removalFlags } from "@berth/core/deploy";
import type { Page, Paging, PrivateKeyRecord, ServerRecord, Stores } from "@berth/core/ports";
import {
  ENGINES,
  hostKeyAfter,
  isClusterIngress,
  isOwnMachine,
  type JobStarted,
  type Server,
  type ServerCreate,
  type ServerDomains,
  type ServerProxyUpdate,
  type ServerResource,
  type ServerUpdate,
  type ServerValidate,
  SHARING_PROXY,
  serverResourceView,
  serverSettingsChange,
  serverView,
} from "@berth/core/server";
import { requireAbility, requireConfirmation } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requestJob } from "./job.ts";
import { NAMED_TAKE, namedAfter } from "./named-resources.ts";
import { mapPage, pageOf } from "./page.ts";
import { requestRemovalOfAll } from "./removal.ts";
import {
  createServer,
  requestInstallation,
  requestValidation,
  requireFreeAddress,
  requireMayReach,
} from "./server-create.ts";

/** @throws DomainError `resource.not_found` */
export async function findServer(stores: Stores, uuid: string): Promise<ServerRecord> {
  const server = await stores.servers.find(uuid);
  if (server === undefined) throw notFound("Server");
  return server;
}

export function servers(context: UseCaseContext) {
  const { scope, stores, ids } = context;
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

    /**
     * The host names of its resources, or the URLs of one application on it.
     * @throws DomainError `resource.not_found`
     */
    async domains(
      uuid: string,
      application: string | undefined,
      paging: Paging,
    ): Promise<Page<ServerDomains | string>> {
      requireAbility(scope, "read");
      const server = await findServer(stores, uuid);
      if (application !== undefined) {
        const found = await stores.applications.find(application);
        if (found?.server_id !== server.id) throw notFound("Application");
        return pageOf(splitUrls(found.fqdn), paging);
      }
      const domains = await stores.servers.hosts(server.id);
      return pageOf(domains.length === 0 ? [] : [{ ip: server.ip, domains: [...domains] }], paging);
    },

    /** @throws DomainError `resource.not_found`, `resource.in_use`, `auth.missing_ability`, `auth.root_team_only` */
    async create(sent: ServerCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      await requireMayReach(context, sent.ip);
      return stores.transaction(async (tx) => {
        const key = await findKey(tx, sent.private_key_uuid);
        const server = await createServer(context, tx, {
          uuid: ids.uuid(),
          name: sent.name ?? null,
          description: sent.description ?? null,
          ip: sent.ip,
          port: sent.port ?? 22,
          user: sent.user ?? "root",
          private_key_id: key.id,
          proxy_type: sent.proxy_type ?? null,
          settings: { is_build_server: sent.is_build_server ?? false },
          host_key: sent.host_key ?? null,
          isValidatedAtOnce: sent.instant_validate ?? false,
        });
        return { uuid: server.uuid };
      });
    },

    /**
     * @throws DomainError `resource.not_found`, `resource.in_use`, `resource.state`, `engine.unsupported`,
     *   `auth.missing_ability`, `auth.root_team_only`
     */
    async update(uuid: string, sent: ServerUpdate & ServerProxyUpdate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      const { ip: ipNow } = await findServer(stores, uuid);
      if (sent.ip && sent.ip !== ipNow) await requireMayReach(context, sent.ip);
      await stores.transaction(async (tx) => {
        const key = sent.private_key_uuid ? await findKey(tx, sent.private_key_uuid) : undefined;
        const server = await findServer(tx, uuid);
        requireStaying(server);
        refuseForLocal(server, sent);
        const ip = sent.ip ?? server.ip;
        const hasMoved = ip !== server.ip;
        if (hasMoved) await requireFreeAddress(tx, ip);
        const port = sent.port ?? server.port;
        const updated = await tx.servers.update(uuid, {
          name: sent.name ?? server.name,
          description: sent.description === undefined ? server.description : sent.description,
          ip,
          ip_previous: hasMoved ? server.ip : server.ip_previous,
          port,
          host_key: hostKeyAfter(server, { ip, port, host_key: sent.host_key }),
          // Observations of another machine do not apply to this one.
          ...(hasMoved ? { probes: 0, unreachable_count: 0 } : {}),
          private_key_id: key?.id ?? server.private_key_id,
          user: sent.user ?? server.user,
          ...(await proxyChange(tx, server, sent)),
          settings: serverSettingsChange(sent),
        });
        await tx.events.append({ type: "server.updated", resource_uuid: uuid, payload: {} });
        if (sent.instant_validate && updated) await requestValidation(context, tx, updated);
      });
      return { uuid };
    },

    /**
     * The worker validates the server, and installs an engine first if requested.
     * @throws DomainError `resource.state`, `engine.unsupported`
     */
    async validate(uuid: string, sent: ServerValidate = {}): Promise<JobStarted> {
      const install_engine = sent.install_engine ?? sent.install;
      requireAbility(scope, "write");
      const job = await stores.transaction(async (tx) => {
        const server = await findServer(tx, uuid);
        requireStaying(server);
        return await (install_engine ? requestInstallation : requestValidation)(context, tx, server);
      });
      const message = job.type === "server.install_engine" ? "Installation started." : "Validation started.";
      return { message, job_uuid: job.uuid };
    },

    /**
     * Marks the server; the worker deletes it after the last of its resources. Idempotent.
     * @throws DomainError `resource.in_use` if it is Berth's own machine, or has resources and `force` is not set
     */
    async delete(uuid: string, { force = false }: { force?: boolean | undefined }): Promise<JobStarted> {
      requireAbility(scope, "write");
      requireConfirmation(scope);
      const job = await stores.transaction(async (tx) => {
        const server = await tx.servers.findForUpdate(uuid);
        if (server === undefined) throw notFound("Server");
        if (isOwnMachine(server)) throw new DomainError("resource.in_use", "Local server cannot be deleted.");
        // Resources that are being removed do not block: the server is removed after them.
        const staying = force ? [] : await tx.resources.listStaying(server.id, NAMED_TAKE);
        if (staying.length > 0) throw hasResources(server, namedAfter(staying));
        if (await tx.servers.markRemoving(server.id)) {
          await tx.applicationDestinations.detachServer(server.id);
          await requestRemovalOfAll(context, tx, server, removalFlags({}));
        }
        return requestJob(context, tx, "server.delete", { ...server, type: "server" });
      });
      return {
        message: force ? "Server and its resources are queued for deletion." : "Server deleted.",
        job_uuid: job.uuid,
      };
    },
  };
}

/**
 * Observations of another type of proxy do not apply to this one.
 * @throws DomainError `request.invalid` for a server whose proxy shares certificates with others of its cluster
 */
async function proxyChange(tx: Stores, server: ServerRecord, sent: ServerUpdate) {
  const proxy_type = (sent.proxy_type ?? server.proxy_type).toUpperCase();
  if (proxy_type === server.proxy_type) return {};
  if (isClusterIngress(server)) {
    const problem = `Server ${server.name} takes requests for its cluster, with copied certificates that only ${SHARING_PROXY} serves. First: berth cluster ingress ${server.name} --off`;
    throw invalid({ proxy_type: [problem] });
  }
  const others = ENGINES[server.engine].isCluster ? (await tx.servers.list()).items : [];
  const nodes = others.filter((node) => node.swarm_cluster === server.id && isClusterIngress(node));
  if (nodes.length > 0) {
    const names = nodes.map(({ name }) => name);
    const commands = names.map((name) => `berth cluster ingress ${name} --off`).join(", ");
    const problem = `The proxies of ${names.join(", ")} serve the certificates of server ${server.name}, which only ${SHARING_PROXY} shares. First: ${commands}`;
    throw invalid({ proxy_type: [problem] });
  }
  return { proxy_type, proxy_status: null, proxy_problem: null };
}

const hasResources = ({ name }: ServerRecord, named: string) =>
  new DomainError(
    "resource.in_use",
    `Server ${name} has resources. Delete them first, or send force=true to delete them with it${named}`,
  );

/** @throws DomainError `resource.state` */
export function requireStaying({ name, removing_at }: ServerRecord): void {
  if (removing_at === null) return;
  throw new DomainError("resource.state", `Server ${name} is being deleted.`);
}

/** @throws DomainError `resource.not_found` */
export async function findKey(stores: Stores, uuid: string): Promise<PrivateKeyRecord> {
  const key = await stores.privateKeys.find(uuid);
  if (key === undefined) throw notFound("Private key");
  return key;
}

/** Berth's own machine has no address to change, and uses Berth's own proxy. */
function refuseForLocal(server: ServerRecord, sent: ServerUpdate & ServerProxyUpdate): void {
  if (!isOwnMachine(server)) return;
  const fields = (["ip", "port", "user"] as const).filter((field) => (sent[field] ?? server[field]) !== server[field]);
  if (fields.length > 0) {
    throw invalid(
      Object.fromEntries(fields.map((field) => [field, ["This server is the machine that Berth runs on."]])),
    );
  }
  if (!ENGINES[server.engine].isOwnMachineOnly) return;
  if (sent.proxy_type && sent.proxy_type !== server.proxy_type.toLowerCase()) {
    throw unsupported("proxy_type", "This server runs Berth's own proxy, which cannot be replaced.");
  }
  if (sent.redirect_url) {
    throw unsupported(
      "redirect_url",
      "This server runs Berth's own proxy, which answers names that nothing has with 404.",
    );
  }
}

const unsupported = (field: string, sentence: string): DomainError =>
  new DomainError("engine.unsupported", sentence, { fields: { [field]: [sentence] } });
