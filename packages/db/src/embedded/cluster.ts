import { randomBytes } from "node:crypto";
import { chmod, chown, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { Binaries } from "./binaries.ts";
import { type DatabaseOwner, giveTo, ownName } from "./owner.ts";
import { run } from "./process.ts";

/** The role that Berth works as, and the name of its database. It is no superuser. */
export const ROLE = "berth";

/** Folder of one embedded database. Closed to everyone but the database's user. */
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
  /** Also listen on 127.0.0.1, with a password. Otherwise there is only the socket. */
  readonly isOnLoopback: boolean;
  /** For data that lives for minutes and may be lost with the machine's power, e.g. a test's. */
  readonly isTemporary: boolean;
  readonly connectionsMax: number;
}

/**
 * Makes the database on the first start. It is made whole beside its place and then renamed into it, so a start that
 * was killed leaves nothing that a later one could take for a database.
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

/** `undefined`: there is no database in the folder. */
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
    // The initdb of a killed start may still write there; what is left of it goes at the next start.
    await rm(join(folder.root, entry), { recursive: true, force: true }).catch(() => undefined);
  }
  const fresh = join(folder.root, NEW_PREFIX + randomBytes(6).toString("hex"));
  const made = await run(
    binaries.initdb,
    // Locale C: text compares by code point on every machine alike. No superuser can log in: see `accessRules`.
    ["-D", fresh, "-U", "postgres", "-A", "peer", "-E", "UTF8", "--locale=C", "--no-instructions"],
    { ids: owner.ids, folder: folder.root },
  );
  if (made.exitCode !== 0) throw notMade(made.stderr || made.stdout);
  // Without a server, so that nothing ever listens on a half-made database.
  const roles = await run(binaries.postgres, ["--single", "-D", fresh, "postgres"], {
    ids: owner.ids,
    folder: folder.root,
    input: `create role ${ROLE} login createdb;\ncreate database ${ROLE} owner ${ROLE};\n`,
  });
  // In this mode errors are told, but not by the exit code.
  if (roles.exitCode !== 0 || /ERROR|FATAL/.test(roles.stderr)) throw notMade(roles.stderr);
  await rename(fresh, folder.data);
}

const notMade = (output: string) =>
  new DomainError("setup.failed", `The embedded database could not be made: ${lastLine(output)}`, {
    cause: new Error(output),
  });
const lastLine = (text: string) => text.trim().split("\n").at(-1) ?? "";

/** Written at each start: the socket's folder, the users and Berth's own settings may have changed since the last. */
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

/** The socket asks the kernel who connects; nobody gets in without being asked. */
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

/** Few and small processes: an idle database costs about as much as an idle shell session. */
function serverSettings(socketFolder: string, settings: ClusterSettings): string {
  const values: Record<string, string> = {
    cluster_name: "berth",
    listen_addresses: settings.isOnLoopback ? "127.0.0.1" : "",
    port: String(settings.port),
    unix_socket_directories: socketFolder,
    unix_socket_permissions: "0700",
    max_connections: String(settings.connectionsMax),
    shared_buffers: "32MB",
    // Workers that would wait most of their lives: asynchronous I/O, parallel queries, replication.
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
    // Shared memory in a file: a desktop session that ends removes what its user holds in /dev/shm.
    dynamic_shared_memory_type: "mmap",
    min_wal_size: "32MB",
    max_wal_size: "256MB",
    timezone: "UTC",
    log_timezone: "UTC",
    datestyle: "ISO, YMD",
    log_checkpoints: "off",
    log_min_messages: "warning",
    // Neither statements nor values: the log is for what is wrong with the server.
    log_min_error_statement: "panic",
    log_error_verbosity: "terse",
    ...(settings.isTemporary ? TEMPORARY : {}),
  };
  const quote = (value: string) => `'${value.replaceAll("'", "''")}'`;
  const lines = Object.entries(values).map(([name, value]) => `${name} = ${quote(value)}`);
  return `# Written by Berth at each start. Put settings of your own into custom.conf beside this file.\n${lines.join("\n")}\ninclude_if_exists = 'custom.conf'\n`;
}
