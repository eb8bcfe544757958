import { existsSync } from "node:fs";
import { join } from "node:path";
import { DomainError, isDomainError } from "@berth/core";
import { Kysely, sql } from "kysely";
import pg from "pg";
import { availability } from "./availability.ts";
import { type Changes, watchChanges } from "./changes.ts";
import { commitOutcome, type TransactionId } from "./commit.ts";
import { connectionProblem, parseDatabaseUrl, versionProblem } from "./database-url.ts";
import { pgliteDialect, postgresDialects } from "./dialect.ts";
import { embeddedFolders, startEmbeddedPostgres } from "./embedded/embedded-postgres.ts";
import { lockFolder } from "./embedded/folder-lock.ts";
import { openPglite, pgliteNotifier } from "./embedded/pglite.ts";
import { READ_ONLY, wrapDatabaseError } from "./errors.ts";
import { type NotificationListener, type Notifier, postgresNotifier } from "./notifier.ts";
import type { DB } from "./schema.ts";
import { parseTimestamp } from "./timestamp.ts";

export type DatabaseKind = "postgres" | "embedded-postgres" | "pglite";

export interface Database {
  readonly kysely: Kysely<DB>;
  /** For statements on leases, which never wait until other work frees a connection. */
  readonly leases: Kysely<DB>;
  readonly kind: DatabaseKind;
  readonly changes: Changes;
  /** Receives `NOTIFY` on the channel from any process. Resolves when no later notification can be missed. */
  listen(channel: string, listener: NotificationListener): Promise<() => void>;
  /** @throws DomainError `database.unavailable` if it does not respond or is read-only. */
  ping(): Promise<void>;
  /** Registers work to do before the connections close. */
  beforeClose(work: () => Promise<void>): void;
  /** Closes the connections and stops an embedded server. Idempotent. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** An external PostgreSQL: `postgres://user:password@host:port/database`. */
  readonly url?: string | undefined;
  /** Locked by this process, even with `url`; contains the embedded database. */
  readonly dataFolder?: string | undefined;
  /** Kind of the embedded database. Default: the one in the folder, else PostgreSQL where its programs run. */
  readonly embedded?: "postgres" | "pglite" | undefined;
  readonly connectionsMax?: number | undefined;
  /** Gets information for the operator, one line at a time. */
  readonly onNotice?: ((line: string) => void) | undefined;
}

/**
 * Opens the database, and starts an embedded one. The tables are created by `migrate`.
 *
 * @throws DomainError `setup.failed` with one sentence that says what is wrong and what to do; never the password.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const lock = options.dataFolder === undefined ? undefined : lockFolder(options.dataFolder);
  try {
    const opened = await open(options);
    return database(opened, await watchChanges(opened.notifier), () => lock?.release());
  } catch (error) {
    lock?.release();
    throw isDomainError(error) ? error : notOpened(error, options.dataFolder);
  }
}

/** For a full disk or a damaged folder. Problems with `url` have messages of their own. */
const notOpened = (cause: unknown, dataFolder = "") =>
  new DomainError(
    "setup.failed",
    `The database in ${dataFolder} could not be opened: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );

interface Opened {
  readonly kind: DatabaseKind;
  readonly kysely: Kysely<DB>;
  readonly leases: Kysely<DB>;
  readonly notifier: Notifier;
  /** Bypasses kysely, whose `destroy` would make later callers fail with kysely's own error. */
  closeConnections(): Promise<void>;
  /** Runs last, after the connections are closed. */
  stop(): Promise<void>;
}

async function open(options: DatabaseOptions): Promise<Opened> {
  const { url, dataFolder, onNotice } = options;
  if (url !== undefined) return await openUrl(url, options);
  if (dataFolder === undefined) throw new DomainError("setup.failed", "Set BERTH_DATABASE_URL or a data folder.");
  const pgliteFolder = join(dataFolder, "pglite");
  const folders = embeddedFolders(dataFolder);
  const hasPostgresData = existsSync(join(folders.folder, "data"));
  const isPgliteAsked = options.embedded === "pglite";
  if (isPgliteAsked || (options.embedded === undefined && !hasPostgresData && existsSync(pgliteFolder))) {
    return await openWasm(pgliteFolder);
  }
  const embedded = await startEmbeddedPostgres({ ...folders, onNotice });
  if (embedded === undefined) {
    if (options.embedded === "postgres" || hasPostgresData) {
      throw new DomainError(
        "setup.failed",
        "The embedded PostgreSQL does not run on this machine. Set BERTH_DATABASE_URL to another one.",
      );
    }
    onNotice?.("PostgreSQL's programs do not run on this machine, so the slower embedded PGlite is used.");
    return await openWasm(pgliteFolder);
  }
  try {
    const own = { onLost: embedded.ensureRunning, folder: dataFolder };
    const opened = await connect(embedded.connection, options, own);
    return { ...opened, kind: "embedded-postgres", stop: embedded.stop };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function openUrl(url: string, options: DatabaseOptions): Promise<Opened> {
  const target = parseDatabaseUrl(url);
  const opened = await connect(target.config, options, { onLost: async () => undefined }).catch((error: unknown) => {
    throw connectionProblem(error, target);
  });
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::int as version`.execute(opened.kysely);
  const problem = versionProblem(rows[0]?.version ?? 0, target);
  if (problem === undefined) return { ...opened, kind: "postgres", stop: async () => undefined };
  await opened.notifier.close();
  await opened.closeConnections();
  throw problem;
}

async function openWasm(folder: string): Promise<Opened> {
  const pglite = await openPglite(folder);
  const kysely = new Kysely<DB>({ dialect: pgliteDialect(pglite, folder) });
  return {
    kind: "pglite",
    kysely,
    leases: kysely,
    notifier: pgliteNotifier(pglite),
    closeConnections: () => pglite.close(),
    stop: async () => undefined,
  };
}

const CONNECTIONS_MAX = 10;
const STATEMENT_TIMEOUT_MS = 30_000;
// A process that hangs within a transaction must not keep its locks for ever.
const IDLE_IN_TRANSACTION_MS = 60_000;
// Applies to waiting for a free connection of the pool too, so it leaves time for a burst of requests.
const CONNECTION_TIMEOUT_MS = 20_000;

async function connect(
  target: pg.ClientConfig,
  { connectionsMax = CONNECTIONS_MAX }: DatabaseOptions,
  { onLost, folder }: { readonly onLost: () => Promise<void>; readonly folder?: string },
): Promise<Pick<Opened, "kysely" | "leases" | "notifier" | "closeConnections">> {
  const config: pg.PoolConfig = {
    ...target,
    application_name: "berth",
    types: { getTypeParser },
    connectionTimeoutMillis: CONNECTION_TIMEOUT_MS,
    keepAlive: true,
  };
  const notifier = postgresNotifier(config, onLost);
  // The first connection reveals a wrong address or password.
  await notifier
    .listen("berth", () => undefined)
    .catch(async (error) => {
      await notifier.close();
      throw error;
    });
  const pool = new pg.Pool({
    ...config,
    max: connectionsMax,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  });
  // A broken idle connection is replaced at its next use; without a listener, the error would end the process.
  pool.on("error", () => undefined);
  const answers = availability({ probe: () => probe(config) });
  const outcomeOf = (id: TransactionId) => commitOutcome(config, id);
  const { ordinary, leases } = postgresDialects({ pool, getTypeParser, answers, folder, outcomeOf });
  return {
    kysely: new Kysely<DB>({ dialect: ordinary }),
    leases: new Kysely<DB>({ dialect: leases }),
    notifier,
    closeConnections() {
      answers.close();
      return pool.end();
    },
  };
}

async function ping(kysely: Kysely<DB>): Promise<void> {
  try {
    const { rows } = await sql<{ isReadOnly: boolean }>`
      select current_setting('transaction_read_only')::boolean as "isReadOnly"`.execute(kysely);
    if (rows[0]?.isReadOnly !== true) return;
  } catch (error) {
    throw wrapDatabaseError(error);
  }
  throw new DomainError("database.unavailable", READ_ONLY);
}

/** Uses a new connection, since all of the pool may be waiting. */
async function probe(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config);
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
  } finally {
    client.end().catch(() => undefined);
  }
}

/** 64-bit integers are ids and counts, all far below 2^53. */
const getTypeParser: pg.CustomTypesConfig["getTypeParser"] = (oid: number, format?: "text" | "binary") => {
  if (format !== "binary") {
    if (oid === pg.types.builtins.INT8) return Number;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return parseTimestamp;
  }
  return pg.types.getTypeParser(oid, format as "text");
};

function database(opened: Opened, changes: Changes, release: () => void): Database {
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    for (const work of closers) await work().catch(() => undefined);
    await opened.notifier.close();
    await opened.closeConnections();
    await opened.stop();
    release();
  }
  return {
    kysely: opened.kysely,
    leases: opened.leases,
    kind: opened.kind,
    changes,
    listen: (channel, listener) => opened.notifier.listen(channel, listener),
    ping: () => ping(opened.kysely),
    beforeClose: (work) => void closers.push(work),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}
