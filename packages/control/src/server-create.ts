import { DomainError } from "@berth/core";
import type { JobRecord, NewServer, ServerRecord, Stores } from "@berth/core/ports";
import { ENGINES, FIRST_NETWORK, isOwnMachine, ServerSettings } from "@berth/core/server";
import { requireOperator } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requestJob } from "./job.ts";

/** Fields of a new server that differ between the ways to create one. */
export type ServerDraft = Omit<NewServer, "engine" | "settings" | "name" | "proxy_type" | "is_validating"> & {
  /** `null`: a name is generated. */
  readonly name: string | null;
  readonly proxy_type: string | null;
  readonly settings?: Partial<ServerSettings>;
  readonly isValidatedAtOnce: boolean;
};

/**
 * Inserts a server that is reached by SSH, with its settings and its first destination, and emits an event. Must run
 * in the caller's transaction.
 * @throws DomainError `resource.in_use` if any server of the instance has the address, `resource.state` if the team
 * has reached its limit
 */
export async function createServer(
  context: Pick<UseCaseContext, "ids" | "teamServersMax">,
  tx: Stores,
  draft: ServerDraft,
): Promise<ServerRecord> {
  const { name, proxy_type, settings = {}, isValidatedAtOnce, ...columns } = draft;
  if (context.teamServersMax !== null) await tx.teams.alone();
  await requireRoom(context, tx);
  await requireFreeAddress(tx, draft.ip);
  const server = await tx.servers.insert({
    ...columns,
    name: name ?? generatedName(draft.uuid),
    engine: "docker",
    proxy_type: (proxy_type ?? "traefik").toUpperCase(),
    settings: ServerSettings.parse(settings),
  });
  await tx.destinations.insert({
    uuid: context.ids.uuid(),
    server_id: server.id,
    name: FIRST_NETWORK,
    network: FIRST_NETWORK,
  });
  await tx.events.append({
    type: "server.created",
    resource_uuid: server.uuid,
    payload: { server_name: server.name },
  });
  if (isValidatedAtOnce) await requestValidation(context, tx, server);
  return server;
}

export const generatedName = (uuid: string): string => `server-${uuid.slice(0, 8)}`;

/** @throws DomainError `resource.state` if the team has reached its limit of servers */
export async function requireRoom({ teamServersMax }: Pick<UseCaseContext, "teamServersMax">, stores: Stores) {
  if (teamServersMax === null) return;
  const { total } = await stores.servers.list({ take: 0 });
  if (total < teamServersMax) return;
  throw new DomainError("resource.state", "Server limit reached for your subscription.");
}

/** @throws DomainError `resource.in_use` */
export async function requireFreeAddress(stores: Stores, ip: string): Promise<void> {
  if (!(await stores.servers.isAddressTaken(ip))) return;
  throw new DomainError("resource.in_use", "A server with this IP/Domain is already in use.");
}

/**
 * Access to Berth's own machine overcomes the separation of teams, so only its operator may add it.
 * @throws DomainError `auth.missing_ability`, `auth.root_team_only`
 */
export async function requireMayReach(
  { scope, addresses }: Pick<UseCaseContext, "scope" | "addresses">,
  ip: string,
): Promise<void> {
  if (await addresses.isOwn(ip)) requireOperator(scope);
}

/**
 * The worker installs Docker on the server and then validates it; on Berth's own machine, which has an engine, it
 * validates only. Idempotent meanwhile.
 * @throws DomainError `engine.unsupported`
 */
export async function requestInstallation(
  context: Pick<UseCaseContext, "ids">,
  tx: Stores,
  server: ServerRecord,
): Promise<JobRecord> {
  if (ENGINES[server.engine].hasContainers) {
    // Berth's own machine becomes such a server only once an engine answered.
    if (isOwnMachine(server)) return await requestValidation(context, tx, server);
    return await requestJob(context, tx, "server.install_engine", { ...server, type: "server" });
  }
  const sentence = "Berth can install Docker only on servers that it reaches over SSH.";
  throw new DomainError("engine.unsupported", sentence, { fields: { install_engine: [sentence] } });
}

/** The worker validates the server. Idempotent meanwhile. */
export async function requestValidation(
  context: Pick<UseCaseContext, "ids">,
  tx: Stores,
  server: ServerRecord,
): Promise<JobRecord> {
  const job = await requestJob(context, tx, "server.validate", { ...server, type: "server" });
  if (job.status === "queued") await tx.servers.update(server.uuid, { is_validating: true, validation_logs: null });
  return job;
}
