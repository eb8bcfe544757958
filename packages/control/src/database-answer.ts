import { notFound } from "@berth/core";
import { type Database, databaseView, engineFields, fieldValues } from "@berth/core/database";
import { referencesIn, resolveEnvs } from "@berth/core/env";
import type { DatabaseRecord, Stores } from "@berth/core/ports";
import { maySeeSecrets } from "@berth/core/team";
import { findResourceForUpdate, type UseCaseContext } from "./context.ts";

/** @throws DomainError `resource.not_found` */
export async function findDatabase(stores: Stores, uuid: string): Promise<DatabaseRecord> {
  const database = await stores.databases.find(uuid);
  if (database === undefined) throw notFound("Database");
  return database;
}

/** Locks the database, so that changes are serialised. @throws DomainError `resource.not_found` */
export async function findDatabaseForUpdate(tx: Stores, uuid: string): Promise<DatabaseRecord> {
  await findResourceForUpdate(tx, { kind: "database", uuid });
  return findDatabase(tx, uuid);
}

type AnswerContext = Pick<UseCaseContext, "scope" | "stores">;

/** Views of these databases for the caller. */
export async function databaseViews(
  { scope, stores }: AnswerContext,
  databases: readonly DatabaseRecord[],
): Promise<Database[]> {
  const secrets = maySeeSecrets(scope) && databases.length > 0 ? await secretsOf(stores, databases) : undefined;
  return databases.map((database) => databaseView(database, { secrets: secrets?.get(database.id) }));
}

/** The values of the secret fields, by the database's id; some engines store theirs as environment variables. */
async function secretsOf(stores: Stores, databases: readonly DatabaseRecord[]) {
  const keys = databases.flatMap(({ engine }) => engineFields(engine).flatMap(([, { variable }]) => variable ?? []));
  const ids = databases.map(({ id }) => id);
  const secrets = await stores.databases.secretsOf(ids);
  const all = keys.length === 0 ? [] : await stores.envs.findByKeys(ids, [...new Set(keys)]);
  // Values marked as shown once appear in no field and no URL.
  const found = all.filter(({ is_shown_once }) => !is_shown_once);
  const shared = await stores.sharedVariables.seenBy(ids, referencesIn(found.map(({ value }) => value)));
  const open = shared.filter(({ is_shown_once }) => !is_shown_once);
  const seen = Map.groupBy(open, ({ resource_id }) => resource_id);
  const variables = Map.groupBy(found, ({ resource_id }) => resource_id);
  return new Map(
    databases.map(({ id, engine }) => {
      const own = resolveEnvs(variables.get(id) ?? [], seen.get(id) ?? []).envs;
      const kept = { ...secrets.get(id), ...Object.fromEntries(own.map(({ key, value }) => [key, value])) };
      return [id, fieldValues(engine, kept)];
    }),
  );
}
