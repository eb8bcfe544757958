import {
  type Database,
  type DatabaseRecord,
  databaseView,
  engineFields,
  fieldValues,
  maySeeSecrets,
  type Stores,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";

type AnswerContext = Pick<UseCaseContext, "scope" | "stores">;

/** What the caller may see of these databases. */
export async function databaseViews(
  { scope, stores }: AnswerContext,
  databases: readonly DatabaseRecord[],
): Promise<Database[]> {
  const secrets = maySeeSecrets(scope) && databases.length > 0 ? await secretsOf(stores, databases) : undefined;
  return databases.map((database) => databaseView(database, { secrets: secrets?.get(database.id) }));
}

/** The values of the secret fields, by the database's id; some engines keep theirs as environment variables. */
async function secretsOf(stores: Stores, databases: readonly DatabaseRecord[]) {
  const keys = databases.flatMap(({ engine }) => engineFields(engine).flatMap(([, { variable }]) => variable ?? []));
  const ids = databases.map(({ id }) => id);
  const secrets = await stores.databases.secretsOf(ids);
  const variables = keys.length === 0 ? [] : await stores.envs.findByKeys(ids, [...new Set(keys)]);
  return new Map(
    databases.map(({ id, engine }) => {
      const own = variables.filter(({ resource_id }) => resource_id === id);
      const kept = { ...secrets.get(id), ...Object.fromEntries(own.map(({ key, value }) => [key, value])) };
      return [id, fieldValues(engine, kept)];
    }),
  );
}
