import { type Kysely, type RawBuilder, sql } from "kysely";
import type { DB } from "./schema.ts";

/** Tables whose rows a worker holds by a lease while they run. */
type HeldTable = "backup_execution" | "backup_restore";

interface Holder {
  readonly owner: string;
  readonly leaseSeconds: number;
  readonly at: Date;
}

/** What a claim writes into the row. */
export const takenBy = ({ owner, leaseSeconds, at }: Holder): RawBuilder<unknown> =>
  sql`lease_owner = ${owner}, started_at = ${at}, updated_at = now(),
    lease_expires_at = clock_timestamp() + ${leaseSeconds}::float8 * interval '1 second'`;

/** Answers which are still the owner's to run: not those that were deleted. */
export async function renewRuns(
  db: Kysely<DB>,
  table: HeldTable,
  { owner, uuids, leaseSeconds }: { readonly owner: string; readonly uuids: readonly string[]; leaseSeconds: number },
): Promise<readonly string[]> {
  const { rows } = await sql<{ uuid: string }>`
    update ${sql.table(table)} set lease_expires_at = clock_timestamp() + ${leaseSeconds}::float8 * interval '1 second'
    where uuid = any(${uuids}::text[]) and lease_owner = ${owner} and status = 'running'
    returning uuid`.execute(db);
  return rows.map(({ uuid }) => uuid);
}

export const isHeldBy = ({ uuid, owner }: { readonly uuid: string; readonly owner: string }) =>
  sql`run.uuid = ${uuid} and run.lease_owner = ${owner}`;

/**
 * Waits, and nobody who could take it has been there for longer than a control plane takes to start anew. A server that
 * one looks after has that one's lease.
 */
export function isUnreached(run: string): RawBuilder<unknown> {
  const [owner, created] = [sql.ref(`${run}.lease_owner`), sql.ref(`${run}.created_at`)];
  const longAgo = sql`clock_timestamp() - interval '120 seconds'`;
  return sql`${owner} is null and ${created} < ${longAgo} and not exists (
    select from lease where lease.name = 'server:' || resource.server_id and lease.expires_at > ${longAgo})`;
}

export const UNREACHED = "Its server is not within reach of any control plane.";

/** Runs that nobody goes on with, and why: over `run` and `resource`, whose server has to be within reach. */
export const ABANDONED: readonly { readonly isMeant: RawBuilder<unknown>; readonly message: string }[] = [
  { isMeant: sql`run.lease_expires_at < clock_timestamp()`, message: "The control plane stopped while it ran." },
  { isMeant: isUnreached("run"), message: UNREACHED },
];
