import { DomainError, isDatabaseUnavailable } from "@berth/core";
import { sql } from "kysely";
import type { Database } from "./client.ts";
import { databaseErrorCode } from "./errors.ts";
import { MIGRATION_NAMES } from "./migrations/names.ts";

const TABLE = "migration";

/**
 * Updates the tables to this version. If several control planes start at once, one does it and the others wait.
 *
 * @throws DomainError `setup.failed` if a newer version has used the database, or if it does not allow to create
 * tables.
 */
export async function migrate({ kysely }: Database): Promise<void> {
  const done = await appliedMigrations(kysely);
  const known: readonly string[] = MIGRATION_NAMES;
  const unknown = done.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new DomainError(
      "setup.failed",
      `The database was used by a newer Berth (it has ${unknown}). Start that version, or a newer one.`,
    );
  }
  if (done.length === known.length) return;
  const [{ Migrator }, { MIGRATIONS }] = await Promise.all([
    import("kysely/migration"),
    import("./migrations/index.ts"),
  ]);
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
    migrationTableName: TABLE,
    migrationLockTableName: `${TABLE}_lock`,
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (databaseErrorCode(error) === "42501") {
    throw new DomainError(
      "setup.failed",
      "The user of BERTH_DATABASE_URL may not create tables. Make it the owner of the database.",
      { cause: error },
    );
  }
  if (isDatabaseUnavailable(error)) throw error;
  throw new DomainError("setup.failed", "The tables of the database could not be created.", { cause: error });
}

/** A start without pending migrations, which is nearly every start, does no more than this. */
async function appliedMigrations(kysely: Database["kysely"]): Promise<readonly string[]> {
  const table = await sql<{ exists: boolean }>`select to_regclass(${TABLE}) is not null as exists`.execute(kysely);
  if (table.rows[0]?.exists !== true) return [];
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(TABLE)} order by name`.execute(kysely);
  return rows.map(({ name }) => name);
}
