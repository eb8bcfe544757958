import { DomainError, notFound } from "@berth/core";
import type { EngineRow, EngineValues } from "@berth/core/database";
import { databaseEngine, engineValues, liveLogin, passwordsOf } from "@berth/core/database";
import type { DatabaseRecord, DatabaseSecrets, SystemStores } from "@berth/core/ports";

export interface KnownDatabase {
  readonly record: DatabaseRecord;
  readonly secrets: DatabaseSecrets;
  readonly values: EngineValues;
  readonly dumps: NonNullable<EngineRow["dumps"]>;
}

/** @throws DomainError `engine.unsupported` for a database that cannot be backed up while it runs */
export async function readDatabase(
  stores: Pick<SystemStores, "forTeam">,
  { team_id, uuid }: { readonly team_id: number; readonly uuid: string },
): Promise<KnownDatabase> {
  const { databases } = stores.forTeam(team_id);
  const record = await databases.find(uuid);
  if (record === undefined) throw notFound("Database");
  const { dumps } = databaseEngine(record.engine);
  if (dumps === null) throw new DomainError("engine.unsupported", "This database cannot be backed up while it runs.");
  const secrets = await databases.secrets(record.id);
  const known = { ...record.fields, ...secrets, ...liveLogin(secrets) };
  return { record, secrets, values: engineValues(record.engine, known), dumps };
}

/** Secrets that must not appear in messages. */
export const textsToHide = ({ record, secrets }: KnownDatabase): readonly string[] =>
  [...Object.values(secrets), ...passwordsOf(record.engine, liveLogin(secrets) ?? {})].filter(
    (secret) => secret.length >= HIDDEN_LENGTH_MIN,
  );

const HIDDEN_LENGTH_MIN = 4;
