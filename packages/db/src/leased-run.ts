import { type BackupOutcome, type BackupStatus, backupStates, CANCELLED_BY_USER } from "@berth/core/backup";
import type { ClaimRequest, RenewableRuns, RenewedRun, RunLease } from "@berth/core/ports";
import { type RawBuilder, sql } from "kysely";
import type { StoreContext } from "./context.ts";

/** Tables whose running rows are leased by a worker. */
const LEASED_TABLES = {
  deployment: { running: "in_progress", isCancelRequested: sql`cancel_requested_at is not null` },
  job: { running: "in_progress", isCancelRequested: sql`false` },
  scheduled_task_execution: { running: "running", isCancelRequested: sql`false` },
  backup_execution: { running: "running", isCancelRequested: sql`cancel_requested_at is not null` },
  backup_restore: { running: "running", isCancelRequested: sql`cancel_requested_at is not null` },
} as const;

type CancellableTable = "backup_execution" | "backup_restore";

/** Uses the database's clock, since clocks of control planes differ. */
export const leaseEnd = (seconds: number): RawBuilder<Date> =>
  sql<Date>`clock_timestamp() + ${seconds}::float8 * interval '1 second'`;

/** The columns that a claim writes. */
export const takenBy = ({ owner, leaseSeconds, at }: ClaimRequest): RawBuilder<unknown> =>
  sql`lease_owner = ${owner}, lease_expires_at = ${leaseEnd(leaseSeconds)}, started_at = ${at}, updated_at = now()`;

/**
 * Number of runs by team, `busy` in a claim, so that one busy team does not delay the others.
 * @param running Selects the `team_id` of each claimed run.
 */
export const runsByTeam = (running: RawBuilder<unknown>) =>
  sql<TeamRuns>`(select team_id, count(*)::int as runs from (${running}) running group by team_id)`;

interface TeamRuns {
  readonly team_id: number;
  readonly runs: number;
}

/** `runsByTeam` as a common table expression. */
export const busyTeams = (running: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`busy as materialized ${runsByTeam(running)}`;

/**
 * Sort key of a claim with `busyTeams`: fewest runs first, then the order of requests. Backups and restores use only
 * the order, since sorting would read every schedule: the limit per team leaves room for the others.
 */
export const runsOfTeam = (teamId: string): RawBuilder<number> =>
  sql<number>`coalesce((select busy.runs from busy where busy.team_id = ${sql.ref(teamId)}), 0)`;

/** Condition of a claim with `busyTeams`: the team is below its limit. */
export const isWithinShare = ({ teamRunsMax }: Pick<ClaimRequest, "teamRunsMax">, teamId: string) =>
  teamRunsMax === undefined ? sql<boolean>`true` : sql<boolean>`${runsOfTeam(teamId)} < ${teamRunsMax}::int`;

/** Whether a run may change to this status: ended ones are final. Literal, so that the partial indexes can be used. */
export const mayBecome = (status: BackupOutcome): RawBuilder<unknown> =>
  sql`run.status in (${sql.join(backupStates.sourcesOf(status).map((source) => sql.lit(source)))})`;

/** @param isWanted Condition on `run`: runs that do not match are not renewed, and end. */
export const renewRuns =
  (
    { database }: StoreContext,
    table: keyof typeof LEASED_TABLES,
    isWanted: RawBuilder<unknown> = sql`true`,
  ): RenewableRuns["renew"] =>
  async (owner, uuids, leaseSeconds) => {
    const { running, isCancelRequested } = LEASED_TABLES[table];
    const { rows } = await sql<RenewedRun>`
      update ${sql.table(table)} run set lease_expires_at = ${leaseEnd(leaseSeconds)}
      where uuid = any(${uuids}::text[]) and lease_owner = ${owner} and status = ${sql.lit(running)} and ${isWanted}
      returning uuid, ${isCancelRequested} as is_cancel_requested`.execute(database.leases);
    return rows;
  };

export const isHeldBy = ({ uuid, owner }: RunLease) => sql`run.uuid = ${uuid} and run.lease_owner = ${owner}`;

/**
 * Whether a run waits, but no control plane has worked on its server for longer than a restart takes. A control plane
 * has the lease of each server that it works on.
 */
export function isUnreached(run: string): RawBuilder<unknown> {
  const [owner, created] = [sql.ref(`${run}.lease_owner`), sql.ref(`${run}.created_at`)];
  const longAgo = sql`statement_timestamp() - interval '120 seconds'`;
  return sql`${owner} is null and ${created} < ${longAgo} and not exists (
    select from lease where lease.name = 'server:' || resource.server_id and lease.expires_at > ${longAgo})`;
}

export const UNREACHED = "No control plane can reach its server.";

interface Abandoned {
  readonly isMeant: RawBuilder<unknown>;
  readonly status: BackupOutcome;
  readonly message: string;
}

const STOPPED = "The control plane stopped while it ran.";
// Not `clock_timestamp()`, whose value the planner does not know: it would expect a third of all runs to match.
const isLeft = sql`run.lease_expires_at < statement_timestamp() and run.cancel_requested_at is`;

/**
 * Conditions on `run` and `resource` for runs that no worker continues, with the status they end with. The resource's
 * server must be one that the caller can reach.
 */
export const ABANDONED: readonly Abandoned[] = [
  { isMeant: sql`${isLeft} null`, status: "failed", message: STOPPED },
  { isMeant: sql`${isLeft} not null`, status: "cancelled-by-user", message: `${CANCELLED_BY_USER} ${STOPPED}` },
  { isMeant: isUnreached("run"), status: "failed", message: UNREACHED },
];

/** Last part of the event type that reports an end. */
export const END_EVENTS: Readonly<Record<BackupOutcome, string>> = {
  success: "finished",
  failed: "failed",
  "cancelled-by-user": "cancelled",
};

/** The columns that a cancellation reads. */
interface Cancellable {
  readonly uuid: string;
  readonly status: BackupStatus;
  readonly cancel_requested_at: Date | null;
  /** `null`: it is waiting. */
  readonly started_at: Date | null;
}

/**
 * An ended or already cancelled run is unchanged. The row is locked, so that no worker claims or ends it meanwhile.
 * @param end Ends a waiting run, which has no worker.
 * @param emitCancelRequest Emits the event for a running one.
 */
export async function cancelRun(
  { db }: StoreContext,
  table: CancellableTable,
  { uuid, at }: { readonly uuid: string; readonly at: Date },
  {
    end,
    emitCancelRequest,
  }: { readonly end: () => Promise<unknown>; readonly emitCancelRequest: () => Promise<unknown> },
): Promise<void> {
  const { rows } = await sql<Cancellable>`select uuid, status, cancel_requested_at, started_at from ${sql.table(table)}
    where uuid = ${uuid} for no key update`.execute(db);
  const [run] = rows;
  if (run === undefined || backupStates.isTerminal(run.status) || run.cancel_requested_at !== null) return;
  await sql`update ${sql.table(table)} set cancel_requested_at = ${at}, updated_at = now()
    where uuid = ${uuid}`.execute(db);
  await (run.started_at === null ? end() : emitCancelRequest());
}
