import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate, openDatabase, startEmbeddedPostgres } from "@berth/db";
import pg from "pg";

/** Address of the run's PostgreSQL for workers. */
export interface TestPostgres {
  /** The run's own folder, removed at its end. */
  readonly folder: string;
  readonly socketFolder: string;
  readonly port: number;
  readonly password: string;
}

const PREFIX = "berth-test-postgres-";
export const TEMPLATE = "berth_template";

/** Starts a PostgreSQL in a temporary folder, on a socket and on 127.0.0.1, with a migrated template database. */
export async function startTestPostgres(): Promise<TestPostgres & { stop(): Promise<void> }> {
  await removeLeftovers();
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await writeFile(join(folder, "pid"), String(process.pid));
  const port = await freePort();
  const server = await startEmbeddedPostgres({
    folder: join(folder, "database"),
    runtimeFolder: join(folder, "runtime"),
    port,
    isOnLoopback: true,
    isTemporary: true,
    connectionsMax: 300,
  });
  if (server === undefined) throw new Error("The PostgreSQL programs do not run here: tests need them.");
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const address = { folder, socketFolder: server.connection.host, port, password: randomBytes(12).toString("hex") };
    await withClient(server.connection, async (client) => {
      await client.query(`alter role berth password '${address.password}'`);
      await client.query(`create database ${TEMPLATE}`);
    });
    const database = await openDatabase({ url: socketUrl(address, TEMPLATE) });
    await migrate(database);
    await database.close();
    return { ...address, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export const socketUrl = ({ socketFolder, port }: TestPostgres, database: string): string =>
  `postgres://berth@localhost:${port}/${database}?host=${encodeURIComponent(socketFolder)}`;

export const loopbackUrl = ({ port, password }: TestPostgres, database: string): string =>
  `postgres://berth:${password}@127.0.0.1:${port}/${database}`;

export async function withClient<T>(config: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(config);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Stops servers of killed runs, which could not stop them, and removes their folders. */
async function removeLeftovers(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = Number(await readFile(join(folder, "pid"), "utf8").catch(() => ""));
    if (owner === 0 || isAlive(owner)) continue; // of a running run, or one that is just starting
    const data = join(folder, "database", "data");
    const server = Number((await readFile(join(data, "postmaster.pid"), "utf8").catch(() => "")).split("\n")[0]);
    if (server > 0 && (await readlink(`/proc/${server}/cwd`).catch(() => "")) === data) process.kill(server, "SIGQUIT");
    await rm(folder, { recursive: true, force: true }).catch(() => undefined); // the folder of another user
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => (typeof address === "object" && address !== null ? resolve(address.port) : reject()));
    });
  });
}
