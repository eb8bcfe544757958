import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { migrate, openDatabase } from "@berth/db";

/** Environment variable with the folder of a stopped, migrated database, which workers inherit. */
const TEMPLATE_VARIABLE = "BERTH_TEST_SERVER_DATABASE";

/** A killed process loses nothing with these; only a power failure would. */
const WITHOUT_SYNC = "fsync = off\nfull_page_writes = off\n";

interface SharedTemplate {
  users: number;
  readonly template: Promise<Template>;
}

interface Template {
  readonly dataFolder: string;
  /** In the data folder; it has the same name in that of a server. */
  readonly database: string;
}

const RUN = Symbol.for("berth.test.data");
// Each vitest project loads this file again in the same process, so the state is shared in the global scope under a
// unique key.
const shared = globalThis as { [RUN]?: SharedTemplate };

/**
 * For vitest's `globalSetup`: creates a database once, which started servers copy. Creating and migrating one costs a
 * third of a start.
 */
export async function setup(): Promise<() => Promise<void>> {
  shared[RUN] ??= { users: 0, template: migratedTemplate() };
  const run = shared[RUN];
  run.users += 1;
  const { dataFolder, database } = await run.template;
  process.env[TEMPLATE_VARIABLE] = database;
  return async () => {
    run.users -= 1;
    if (run.users > 0) return;
    delete shared[RUN];
    await rm(dataFolder, { recursive: true, force: true });
  };
}

/** Gives the data folder of a server that has not started yet the run's database. Without one the server makes its own. */
export async function copyDatabase(dataFolder: string): Promise<void> {
  const template = process.env[TEMPLATE_VARIABLE];
  // Its files belong to the database's user, which node's `cp` would not keep.
  if (template !== undefined) await promisify(execFile)("cp", ["--archive", template, dataFolder]);
}

async function migratedTemplate(): Promise<Template> {
  const dataFolder = await mkdtemp(join(tmpdir(), "berth-test-data-"));
  await chmod(dataFolder, 0o711);
  const database = await openDatabase({ dataFolder });
  try {
    await migrate(database);
  } finally {
    await database.close();
  }
  if (database.kind === "pglite") return { dataFolder, database: join(dataFolder, "pglite") };
  await writeFile(join(dataFolder, "database", "data", "custom.conf"), WITHOUT_SYNC);
  return { dataFolder, database: join(dataFolder, "database") };
}
