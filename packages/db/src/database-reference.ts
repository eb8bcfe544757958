import { asItRuns, engineFields, fieldValues, liveLogin, seenDatabase } from "@berth/core/database";
import { databaseNameIn, referencesIn, resolveEnvs, type SharedReference } from "@berth/core/env";
import type { DatabaseClient, DatabaseRecord, NamedDatabase, SeenVariable } from "@berth/core/ports";
import { sql } from "kysely";
import { idsOf, type TeamContext } from "./context.ts";
import { databaseStore, databasesNamed } from "./database.ts";
import { envStore } from "./env.ts";
import { type Seeing, seenShared } from "./shared-variable.ts";

/** The targets of references, for each of these resources. */
export const seenBy = async (
  context: TeamContext,
  seeing: Seeing,
  references: readonly SharedReference[],
): Promise<readonly SeenVariable[]> => [
  ...(await seenShared(context, seeing, references)),
  ...(await seenDatabases(context, seeing, references)),
];

/** Those references that name databases. */
async function seenDatabases(
  context: TeamContext,
  seeing: Seeing,
  references: readonly SharedReference[],
): Promise<readonly SeenVariable[]> {
  const names = references.flatMap((reference) => databaseNameIn(reference) ?? []);
  const named = await namedDatabases(context, seeing, names);
  return seeing.resourceIds.flatMap((resource_id) => {
    const own = named.filter((one) => one.resource_id === resource_id);
    return references.flatMap((reference) => seenDatabase(reference, own) ?? []);
  });
}

/** Databases that variables of these resources reference, for each resource of their environment. */
export async function namedDatabases(
  context: TeamContext,
  seeing: Seeing,
  names: readonly string[],
): Promise<readonly NamedDatabase[]> {
  if (names.length === 0) return [];
  const clients = await clientsOf(context, seeing);
  const environmentIds = [...new Set(clients.map(({ environment_id }) => environment_id))];
  const databases = environmentIds.length === 0 ? [] : await databasesNamed(context, environmentIds, names);
  if (databases.length === 0) return [];
  const values = await valuesOf(context, databases);
  return clients.flatMap(({ resource_id, environment_id, ...client }) =>
    databases
      .filter((database) => database.environment_id === environment_id)
      .map((database) => {
        const { secrets = {}, is_shown_once = false, login } = values.get(database.id) ?? {};
        // A changed password is the database's with its next start.
        return { resource_id, client, is_shown_once, ...asItRuns(database, secrets, login) };
      }),
  );
}

interface ClientRow extends DatabaseClient {
  readonly resource_id: number;
  readonly environment_id: number;
}

/** Containers of a compose file have a network of their own, unless they are set to join that of the destination. */
async function clientsOf(
  { db, teamId }: TeamContext,
  { resourceIds, serverId }: Seeing,
): Promise<readonly ClientRow[]> {
  const { rows } = await sql<ClientRow>`
    select resource.id as resource_id, resource.environment_id, resource.name, server.id as server_id,
      coalesce(here.destination_id, resource.destination_id) as destination_id, server.name as server_name, server.engine as server_engine,
      resource.kind = 'database'
        or resource.kind = 'application' and coalesce(application.settings ->> 'build_pack', '') <> 'dockercompose'
        or coalesce((coalesce(application.settings, service.settings) ->> 'connect_to_docker_network')::boolean, false)
        as is_in_network
    from resource
    left join application_destination here on here.resource_id = resource.id
      and here.server_id = ${serverId ?? null}::bigint
    join server on server.id = coalesce(here.server_id, resource.server_id)
    left join application on application.resource_id = resource.id
    left join service on service.resource_id = resource.id
    where resource.id in ${idsOf(resourceIds)} and resource.team_id = ${teamId}`.execute(db);
  return rows;
}

/** The values of secret fields; some engines store theirs as environment variables. */
async function valuesOf(context: TeamContext, databases: readonly DatabaseRecord[]) {
  const ids = databases.map(({ id }) => id);
  const secrets = await databaseStore(context).secretsOf(ids);
  const keys = databases.flatMap(({ engine }) => engineFields(engine).flatMap(([, { variable }]) => variable ?? []));
  const found = keys.length === 0 ? [] : await envStore(context).findByKeys(ids, [...new Set(keys)]);
  const shared = await seenShared(context, { resourceIds: ids }, referencesIn(found.map(({ value }) => value)));
  return new Map(
    databases.map(({ id, engine }) => {
      const own = found.filter(({ resource_id }) => resource_id === id);
      const seen = shared.filter(({ resource_id }) => resource_id === id);
      const envs = resolveEnvs(own, seen).envs.map(({ key, value }) => [key, value] as const);
      const is_shown_once = [...own, ...seen].some((one) => one.is_shown_once);
      const kept = secrets.get(id) ?? {};
      const values = fieldValues(engine, { ...kept, ...Object.fromEntries(envs) });
      return [id, { secrets: values, is_shown_once, login: liveLogin(kept) }];
    }),
  );
}
