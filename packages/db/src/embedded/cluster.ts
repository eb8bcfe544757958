import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { Binaries } from "./binaries.ts";
import { type DatabaseOwner, giveTo, ownName } from "./owner.ts";
import { run } from "./process.ts";

/** The role that Berth connects as, and the name of its database. It is not a superuser. */
export const ROLE = "berth";

/** Folder of one embedded database. Only the database's user can access it. */
export interface ClusterFolder {
  readonly root: string;
  /** PostgreSQL's data directory. */
  readonly data: string;
  readonly logFile: string;
}

export const clusterFolder = (root: string): ClusterFolder => ({
  root,
  data: join(root, "data"),
  logFile: join(root, "postgres.log"),
});

export interface ClusterSettings {
  readonly port: number;
  /** Also listens on 127.0.0.1, with a password. Otherwise there is only the socket. */
  readonly isOnLoopback: boolean;
  /** For short-lived data that may be lost in a power failure, e.g. of tests. */
  readonly isTemporary: boolean;
  readonly connectionsMax: number;
}

/**
 * Creates the database on the first start. It is created under another name and then renamed, so a killed start
 * leaves nothing that a later one could mistake for a database.
 */
export async function ensureCluster(folder: ClusterFolder, owner: DatabaseOwner, binaries: Binaries): Promise<void> {
  await mkdir(folder.root, { recursive: true, mode: 0o700 });
  await chmod(folder.root, 0o700);
  await giveTo(owner, folder.root);
  const existing = await majorVersion(folder);
  if (existing === undefined) return await createCluster(folder, owner, binaries);
  const major = binaries.version.split(".")[0];
  if (existing !== major) {
    throw new DomainError(
      "setup.failed",
      `The database in ${folder.root} was written by PostgreSQL ${existing}, this Berth has ${major}. ` +
        "Start the Berth version that wrote it.",
    );
  }
}

/** `undefined`: the folder contains no database. */
export async function majorVersion(folder: ClusterFolder): Promise<string | undefined> {
  try {
    return (await readFile(join(folder.data, "PG_VERSION"), "utf8")).trim();
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return undefined;
    throw new DomainError(
      "setup.failed",
      `The database in ${folder.root} belongs to another user. Start Berth as the user who made it, or set BERTH_DATA.`,
      { cause },
    );
  }
}

const NEW_PREFIX = "new-";

async function createCluster(folder: ClusterFolder, owner: DatabaseOwner, binaries: Binaries): Promise<void> {
  for (const entry of await readdir(folder.root)) {
    if (!entry.startsWith(NEW_PREFIX)) continue;
    // The initdb of a killed start may still write there; the next start removes the rest.
    await rm(join(folder.root, entry), { recursive: true, force: true }).catch(() => undefined);
  }
  const fresh = join(folder.root, NEW_PREFIX + randomBytes(6).toString("hex"));
  const made = await run(
    binaries.initdb,
    // Locale C: text is compared by code point on every machine. No superuser can log in: see `accessRules`.
    ["-D", fresh, "-U", "postgres", "-A", "peer", "-E", "UTF8", "--locale=C", "--no-instructions"],
    { ids: owner.ids, folder: folder.root },
  );
  if (made.exitCode !== 0) throw notMade(made.stderr || made.stdout);
  // Without a server, so that nothing ever listens on an incomplete database.
  const roles = await run(binaries.postgres, ["--single", "-D", fresh, "postgres"], {
    ids: owner.ids,
    folder: folder.root,
    input: `create role ${ROLE} login createdb;\ncreate database ${ROLE} owner ${ROLE};\n`,
  });
  // In this mode errors are printed, but not reflected in the exit code.
  if (roles.exitCode !== 0 || /ERROR|FATAL/.test(roles.stderr)) throw notMade(roles.stderr);
  await rename(fresh, folder.data);
}

const notMade = (output: string) =>
  new DomainError("setup.failed", `The embedded database could not be created: ${lastLine(output)}`, {
    cause: new Error(output),
  });
const lastLine = (text: string) => text.trim().split("\n").at(-1) ?? "";

/** Written at each start, since the socket's folder, the users and Berth's own settings may have changed. */
export async function writeConfig(
  folder: ClusterFolder,
  owner: DatabaseOwner,
  socketFolder: string,
  settings: ClusterSettings,
): Promise<{ readonly configFile: string }> {
  const files = {
    "berth.conf": serverSettings(socketFolder, settings),
    "pg_hba.conf": accessRules(settings),
    "pg_ident.conf": userMap(owner),
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(folder.data, name);
    await writeFile(path, text, { mode: 0o600 });
    if (owner.ids !== undefined) await chown(path, owner.ids.uid, owner.ids.gid);
  }
  return { configFile: join(folder.data, "berth.conf") };
}

/** On the socket, the kernel tells the server which user connects. There is no access without authentication. */
const accessRules = ({ isOnLoopback }: ClusterSettings): string =>
  [
    `local all ${ROLE} peer map=berth`,
    ...(isOnLoopback ? [`host all ${ROLE} 127.0.0.1/32 scram-sha-256`] : []),
    "local all all reject",
    "host all all all reject",
    "",
  ].join("\n");

function userMap(owner: DatabaseOwner): string {
  const names = new Set([owner.name, ownName() ?? owner.name]);
  return [...names].map((name) => `berth "${name}" ${ROLE}\n`).join("");
}

const TEMPORARY = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", autovacuum: "off" };

/** Few and small processes: an idle database should cost about as much as an idle shell session. */
function serverSettings(socketFolder: string, settings: ClusterSettings): string {
  const values: Record<string, string> = {
    cluster_name: "berth",
    listen_addresses: settings.isOnLoopback ? "127.0.0.1" : "",
    port: String(settings.port),
    unix_socket_directories: socketFolder,
    unix_socket_permissions: "0700",
    max_connections: String(settings.connectionsMax),
    shared_buffers: "32MB",
    // These workers would be idle most of the time: asynchronous I/O, parallel queries, replication.
    io_method: "sync",
    max_worker_processes: "2",
    max_parallel_workers: "0",
    max_parallel_workers_per_gather: "0",
    max_logical_replication_workers: "0",
    max_wal_senders: "0",
    wal_level: "minimal",
    autovacuum_worker_slots: "2",
    autovacuum_max_workers: "2",
    maintenance_work_mem: "32MB",
    jit: "off",
    huge_pages: "off",
    // Shared memory in a file: the end of a desktop session removes its user's files in /dev/shm.
    dynamic_shared_memory_type: "mmap",
    min_wal_size: "32MB",
    max_wal_size: "256MB",
    timezone: "UTC",
    log_timezone: "UTC",
    datestyle: "ISO, YMD",
    log_checkpoints: "off",
    log_min_messages: "warning",
    // Logs neither statements nor values, only problems of the server.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    ...(settings.isTemporary ? TEMPORARY : {}),
  };
  const quote = (value: string) => `'${value.replaceAll("'", "''")}'`;
  const lines = Object.entries(values).map(([name, value]) => `${name} = ${quote(value)}`);
  return `# Written by Berth at each start. Put settings of your own into custom.conf beside this file.\n${lines.join("\n")}\ninclude_if_exists = 'custom.conf'\n`;
}
