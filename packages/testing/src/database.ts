import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Authenticator, LimitReads, Stores, SystemStores } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import {
  authenticator,
  type Cipher,
  cipher,
  type Database,
  limitReads,
  migrate,
  openDatabase,
  stores,
  systemStores,
} from "@berth/db";
import { ADDRESS_VARIABLE } from "./database-setup.ts";
import { loopbackUrl, socketUrl, TEMPLATE, type TestPostgres, withClient } from "./postgres-server.ts";

/**
 * Backends of the database suites: the embedded PostgreSQL and the fallback. PostgreSQL over TCP only differs in its
 * socket, which `db/src/tcp.test.ts` covers.
 */
export const BACKENDS = ["embedded", "pglite"] as const;
export type Backend = (typeof BACKENDS)[number] | "tcp";

export interface TestDatabase {
  readonly database: Database;
  /**
   * For another `openDatabase` or server on the same data. Not available for `pglite`, which allows one process only.
   */
  readonly url: string;
  readonly system: SystemStores;
  readonly authenticator: Authenticator;
  readonly limitReads: LimitReads;
  /** The stores of a team; of the root team when left out. */
  stores(teamId?: number): Stores;
  /** Stores with the actor that is recorded in events. */
  storesFor(scope: Scope): Stores;
  /** Closes and deletes the database. */
  close(): Promise<void>;
}

/** A fresh, migrated database. Needs `project(name, { usesDatabase: true })` in the package's vitest.config.ts. */
export async function testDatabase(
  options: { readonly backend?: Backend; readonly connectionsMax?: number } = {},
): Promise<TestDatabase> {
  const { database, url, remove } = options.backend === "pglite" ? await openPglite() : await openFromTemplate(options);
  const dependencies = { cipher: testCipher() };
  const inTeam = stores(database, dependencies);
  return {
    database,
    url,
    system: systemStores(database, dependencies),
    authenticator: authenticator(database),
    limitReads,
    stores: (teamId = 0) => inTeam({ teamId }),
    storesFor: inTeam,
    async close() {
      await database.close();
      await remove();
    },
  };
}

/** Cipher that the fixture's stores use. */
export const testCipher = (): Cipher => cipher([Buffer.alloc(32, 7)]);

interface Opened {
  readonly database: Database;
  readonly url: string;
  remove(): Promise<void>;
}

async function openFromTemplate({ backend, connectionsMax }: Parameters<typeof testDatabase>[0] & {}): Promise<Opened> {
  const server = testPostgres();
  const name = `test_${randomBytes(6).toString("hex")}`;
  const admin = { connectionString: socketUrl(server, "berth") };
  await withClient(admin, (client) => client.query(`create database ${name} template ${TEMPLATE}`));
  const url = backend === "tcp" ? loopbackUrl(server, name) : socketUrl(server, name);
  return {
    database: await openDatabase({ url, connectionsMax }),
    url,
    remove: () => withClient(admin, async (client) => void (await client.query(`drop database ${name} with (force)`))),
  };
}

async function openPglite(): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "berth-test-pglite-"));
  await cp(await pgliteTemplate(), folder, { recursive: true });
  const database = await openDatabase({ dataFolder: folder, embedded: "pglite" });
  return { database, url: "", remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Created by the first test of the run that needs it; opening a copy is much faster than migrating. */
async function pgliteTemplate(): Promise<string> {
  const template = join(testPostgres().folder, "pglite-template");
  if (existsSync(template)) return template;
  const fresh = await mkdtemp(join(testPostgres().folder, "pglite-"));
  const database = await openDatabase({ dataFolder: fresh, embedded: "pglite" });
  await migrate(database);
  await database.close();
  // If another worker created it first, this copy is not needed.
  await rename(fresh, template).catch(() => undefined);
  return template;
}

/** Address of the PostgreSQL of this test run. */
export function testPostgres(): TestPostgres {
  const address = process.env[ADDRESS_VARIABLE];
  if (address === undefined) {
    throw new Error(
      "No PostgreSQL was started: put usesDatabase: true into the project of this package's vitest.config.ts",
    );
  }
  // Written by `database-setup.ts` of the same run.
  return JSON.parse(address) as TestPostgres;
}
