import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";

/** Identifies a transaction after its connection was lost. */
export interface TransactionId {
  readonly id: string;
  readonly backendPid: number;
  readonly statisticsSince: string;
}

export type CommitOutcome = "committed" | "not committed" | "unknown";

/**
 * The id must be known before COMMIT is sent, so it is read together with BEGIN. After recovering from a crash,
 * PostgreSQL resets its statistics and may reuse ids of uncommitted transactions.
 */
export const BEGIN = `begin; select pg_current_xact_id()::text as id, pg_backend_pid() as "backendPid",
  pg_stat_get_bgwriter_stat_reset_time()::text as "statisticsSince"`;

/** Asks PostgreSQL over a new connection, repeatedly until it responds or `TRIES_MS` have passed. */
export async function commitOutcome(config: pg.ClientConfig, transaction: TransactionId): Promise<CommitOutcome> {
  const deadline = performance.now() + TRIES_MS;
  while (performance.now() < deadline) {
    const outcome = await ask(config, transaction).catch(() => undefined);
    if (outcome !== undefined) return outcome;
    await delay(PAUSE_MS);
  }
  return "unknown";
}

/** As long as callers wait for an unavailable database. */
const TRIES_MS = 5000;
const PAUSE_MS = 100;

/** @returns `undefined` while the transaction is still open. */
async function ask(config: pg.ClientConfig, transaction: TransactionId): Promise<CommitOutcome | undefined> {
  const client = new pg.Client({ ...config, query_timeout: TRIES_MS, connectionTimeoutMillis: TRIES_MS });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { id, backendPid, statisticsSince } = transaction;
    const since = await client.query("select pg_stat_get_bgwriter_stat_reset_time()::text as since");
    const isSameRun = since.rows[0]?.since === statisticsSince;
    // The server may not have noticed the lost connection yet, and may still receive its COMMIT.
    if (isSameRun) await client.query(END_BACKEND, [backendPid, id]);
    const { rows } = await client.query("select pg_xact_status($1::xid8) as status", [id]);
    return outcomeOf(rows[0]?.status, isSameRun);
  } catch (error) {
    // After a crash, this id has not been assigned again yet.
    if (error instanceof pg.DatabaseError && error.code === INVALID_PARAMETER) return "not committed";
    throw error;
  } finally {
    client.end().catch(() => undefined);
  }
}

const END_BACKEND =
  "select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_xid = $2::xid8::xid";
const INVALID_PARAMETER = "22023";

function outcomeOf(status: unknown, isSameRun: boolean): CommitOutcome | undefined {
  if (status === "aborted") return "not committed";
  // After a crash the id may be that of another transaction, but ids of committed ones are never reused.
  if (status === "in progress") return isSameRun ? undefined : "not committed";
  return status === "committed" && isSameRun ? "committed" : "unknown";
}
