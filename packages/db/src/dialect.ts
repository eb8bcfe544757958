import type { Duplex } from "node:stream";
import { DomainError } from "@berth/core";
import { diskSpace } from "@berth/host";
import type { PGlite } from "@electric-sql/pglite";
import { Semaphore, withTimeout } from "async-mutex";
import {
  AbortedTransactionError,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PGliteDialect,
  PostgresDialect,
  type PostgresPoolClient,
} from "kysely";
import type pg from "pg";
import type { Availability } from "./availability.ts";
import { BEGIN, type CommitOutcome, type TransactionId } from "./commit.ts";
import { commitLost, wrapDatabaseError } from "./errors.ts";
import { countedTypes } from "./read-limit.ts";

/** Statement texts repeat, so PostgreSQL parses and plans each once per connection. */
const STATEMENT_NAMES_MAX = 500;

interface PostgresConnections {
  readonly pool: pg.Pool;
  readonly getTypeParser: pg.CustomTypesConfig["getTypeParser"];
  readonly answers: Availability;
  /** Finds out how a transaction ended whose connection was lost after COMMIT was sent. */
  readonly outcomeOf: (transaction: TransactionId) => Promise<CommitOutcome>;
  /** Folder of an embedded database, for messages about a full disk. */
  readonly folder?: string | undefined;
}

export interface PostgresDialects {
  /** Leaves one connection of the pool to `leases`. */
  readonly ordinary: Dialect;
  /** For leases, which expire when their renewals wait behind other work. */
  readonly leases: Dialect;
}

/** Both use the same pool. */
export function postgresDialects(connections: PostgresConnections): PostgresDialects {
  const { pool, folder } = connections;
  const connect = namedClients(connections);
  const dialect = (clients: () => Promise<PostgresPoolClient>) =>
    wrappingErrors(
      new PostgresDialect({ pool: { connect: clients, end: () => pool.end(), options: pool.options } }),
      folder,
    );
  return { ordinary: dialect(leavingOne(connect, pool.options)), leases: dialect(connect) };
}

/** Lets callers wait for a connection as the pool does, and for as long, while all but one are in use. */
function leavingOne(
  connect: () => Promise<PostgresPoolClient>,
  { max, connectionTimeoutMillis }: pg.PoolOptions,
): () => Promise<PostgresPoolClient> {
  const semaphore = new Semaphore(Math.max(1, max - 1));
  const places =
    connectionTimeoutMillis === undefined
      ? semaphore
      : withTimeout(semaphore, connectionTimeoutMillis, new Error("timeout exceeded when trying to connect"));
  return async () => {
    const [, leave] = await places.acquire();
    try {
      const client = await connect();
      const release: typeof client.release = (...isDiscarded) => {
        client.release(...isDiscarded);
        leave();
      };
      return { ...client, release };
    } catch (error) {
      leave();
      throw error;
    }
  };
}

export const pgliteDialect = (pglite: PGlite, folder: string): Dialect =>
  wrappingErrors(new PGliteDialect({ pglite }), folder);

function namedClients({
  pool,
  getTypeParser,
  answers,
  outcomeOf,
}: PostgresConnections): () => Promise<PostgresPoolClient> {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known !== undefined || names.size >= STATEMENT_NAMES_MAX) return known;
    const name = `berth_${names.size}`;
    names.set(text, name);
    return name;
  };
  const wrapped = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return async () => {
    const client = await answers.during(
      () => pool.connect(),
      (late) => void late.then((unused) => unused.release()).catch(() => undefined),
    );
    const known = wrapped.get(client);
    if (known !== undefined) return known;
    // The pool handles errors of idle clients only. Without this, a connection that breaks between two statements of
    // a transaction would end the process; now the next statement reports it.
    let isLost = false;
    client.on("error", () => {
      isLost = true;
    });
    let isGivenUp = false;
    const send = (config: pg.QueryConfig) =>
      answers.during(
        () => client.query(config),
        () => {
          isGivenUp = true;
          destroySocket(client);
        },
      );
    let transaction: TransactionId | undefined;
    async function begin() {
      // For several statements the library returns an array, unlike its types say.
      const [begun, named] = (await send({ text: BEGIN })) as unknown as [pg.QueryResult, pg.QueryResult];
      transaction = named.rows[0];
      return begun;
    }
    async function commit() {
      try {
        return await send({ text: "commit" });
      } catch (error) {
        // An error sent by PostgreSQL means that it has not committed.
        if (!isLost || transaction === undefined) throw error;
        const outcome = isGivenUp ? "unknown" : await outcomeOf(transaction);
        if (outcome !== "committed") throw commitLost(outcome, error);
        return { command: "COMMIT", rowCount: null, rows: [] };
      }
    }
    const query = (text: string, values: readonly unknown[] = []) => {
      if (text === "begin") return begin();
      if (text === "commit") return commit();
      // The transaction ended with its connection. The first error is more useful than that of a ROLLBACK nobody
      // receives.
      if (text === "rollback" && isLost) return Promise.resolve({ command: "ROLLBACK", rowCount: null, rows: [] });
      const name = values.length > 0 ? nameOf(text) : undefined;
      return send({
        text,
        values: [...values],
        ...(name !== undefined && { name }),
        types: countedTypes(getTypeParser),
      });
    };
    // The interface's other form, with a cursor, is for streamed queries, which are not used.
    const named: PostgresPoolClient = {
      query: query as unknown as PostgresPoolClient["query"],
      release: (isDiscarded?: boolean) => client.release(isDiscarded === true || isGivenUp || isLost),
    };
    wrapped.set(client, named);
    return named;
  };
}

/**
 * Ends the statement by closing the connection; the pool replaces it. The library's own `end` would wait for the
 * statement.
 */
function destroySocket(client: pg.PoolClient): void {
  const { connection } = client as unknown as { readonly connection: { readonly stream: Duplex } };
  connection.stream.destroy();
}

/** Wraps every error of the driver in a `DomainError`, for all queries of this package. */
function wrappingErrors(dialect: Dialect, folder: string | undefined): Dialect {
  return {
    createAdapter: () => dialect.createAdapter(),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
    createDriver: () => wrappingDriver(dialect.createDriver(), folder),
  };
}

function wrappingDriver(driver: Driver, folder: string | undefined): Driver {
  const wrapped = <T>(work: Promise<T>) => work.catch((error: unknown) => rethrow(error, folder));
  const patched = new WeakSet<DatabaseConnection>();
  return {
    init: (options) => wrapped(driver.init(options)),
    async acquireConnection(options) {
      const connection = await wrapped(driver.acquireConnection(options));
      if (!patched.has(connection)) {
        patched.add(connection);
        const execute = connection.executeQuery.bind(connection);
        connection.executeQuery = (query, queryOptions) => wrapped(execute(query, queryOptions));
      }
      return connection;
    },
    beginTransaction: (connection, settings) => wrapped(driver.beginTransaction(connection, settings)),
    commitTransaction: (connection) => wrapped(driver.commitTransaction(connection)),
    rollbackTransaction: (connection) => wrapped(driver.rollbackTransaction(connection)),
    releaseConnection: (connection, options) => driver.releaseConnection(connection, options),
    destroy: (options) => driver.destroy(options),
  };
}

async function rethrow(error: unknown, folder: string | undefined): Promise<never> {
  // Kysely's own error for a commit that became a rollback; kysely handles it.
  if (error instanceof AbortedTransactionError) throw error;
  const wrapped = wrapDatabaseError(error);
  if (folder === undefined || wrapped.code !== "storage.full") throw wrapped;
  const space = await diskSpace(folder);
  const free = space === undefined ? "" : ` (${Math.floor(space.freeBytes / 1e6)} MB free)`;
  const sentence = `The disk of ${folder} is full${free}, so nothing was written. Free space on it, then try again.`;
  throw new DomainError("storage.full", sentence, { cause: error });
}
