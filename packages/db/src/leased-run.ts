import { type BackupOutcome, type BackupStatus, backupStates, CANCELLED_BY_USER } from "@berth/core/backup";
import type { ClaimRequest, RenewableRuns, RenewedRun, RunLease } from "@berth/core/ports";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { runTopic } from "./changes.ts";
import type { Context } from "./context.ts";
import type { DB } from "./schema.ts";

/** Tables whose rows a worker holds by a lease while they run. */
const LEASED_TABLES = {
  deployment: { running: "in_progress", isCancelRequested: sql`cancel_requested_at is not null` },
  job: { running: "in_progress", isCancelRequested: sql`false` },
  scheduled_task_execution: { running: "running", isCancelRequested: sql`false` },
  backup_execution: { running: "running", isCancelRequested: sql`cancel_requested_at is not null` },
  backup_restore: { running: "running", isCancelRequested: sql`cancel_requested_at is not null` },
} as const;

type CancellableTable = "backup_execution" | "backup_restore";

/** By the database's clock: replicas need not agree on the time. */
export const leaseEnd = (seconds: number): RawBuilder<Date> =>
  sql<Date>`clock_timestamp() + ${seconds}::float8 * interval '1 second'`;

/** Columns that a claim writes. */
export const takenBy = ({ owner, leaseSeconds, at }: ClaimRequest): RawBuilder<unknown> =>
  sql`lease_owner = ${owner}, lease_expires_at = ${leaseEnd(leaseSeconds)}, started_at = ${at}, updated_at = now()`;

/**
 * How many runs each team has: `busy` in a claim, so that one team with much to do does not keep the others waiting.
 * @param running Selects the `team_id` of each run that a worker holds.
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
 * For a claim with `busyTeams`: fewest runs first, then the order in which they were asked for. Backups and restores go
 * by the order alone, since sorting would read every schedule: a team's share keeps a place free for the others.
 */
export const runsOfTeam = (teamId: string): RawBuilder<number> =>
  sql<number>`coalesce((select busy.runs from busy where busy.team_id = ${sql.ref(teamId)}), 0)`;

/** For a claim with `busyTeams`. */
export const isWithinShare = ({ teamRunsMax }: Pick<ClaimRequest, "teamRunsMax">, teamId: string) =>
  teamRunsMax === undefined ? sql<boolean>`true` : sql<boolean>`${runsOfTeam(teamId)} < ${teamRunsMax}::int`;

/** A run may become this: those that have ended never change again. Literal, so that indexes of what runs serve it. */
export const mayBecome = (status: BackupOutcome): RawBuilder<unknown> =>
  sql`run.status in (${sql.join(backupStates.sourcesOf(status).map((source) => sql.lit(source)))})`;

/** @param isWanted Over `run`: the others are not renewed, and end. */
export const renewRuns =
  (
    db: Kysely<DB>,
    table: keyof typeof LEASED_TABLES,
    isWanted: RawBuilder<unknown> = sql`true`,
  ): RenewableRuns["renew"] =>
  async (owner, uuids, leaseSeconds) => {
    const { running, isCancelRequested } = LEASED_TABLES[table];
    const { rows } = await sql<RenewedRun>`
      update ${sql.table(table)} run set lease_expires_at = ${leaseEnd(leaseSeconds)}
      where uuid = any(${uuids}::text[]) and lease_owner = ${owner} and status = ${sql.lit(running)} and ${isWanted}
      returning uuid, ${isCancelRequested} as is_cancel_requested`.execute(db);
    return rows;
  };

export const isHeldBy = ({ uuid, owner }: RunLease) => sql`run.uuid = ${uuid} and run.lease_owner = ${owner}`;

/**
 * Waits, and nobody who could take it has been there for longer than a control plane takes to start anew. A server that
 * one looks after has that one's lease.
 */
export function isUnreached(run: string): RawBuilder<unknown> {
  const [owner, created] = [sql.ref(`${run}.lease_owner`), sql.ref(`${run}.created_at`)];
  const longAgo = sql`statement_timestamp() - interval '120 seconds'`;
  return sql`${owner} is null and ${created} < ${longAgo} and not exists (
    select from lease where lease.name = 'server:' || resource.server_id and lease.expires_at > ${longAgo})`;
}

export const UNREACHED = "Its server is not within reach of any control plane.";

interface Abandoned {
  readonly isMeant: RawBuilder<unknown>;
  readonly status: BackupOutcome;
  readonly message: string;
}

const STOPPED = "The control plane stopped while it ran.";
// Not by `clock_timestamp()`, whose value the planner cannot know: it then counts on a third of what runs.
const isLeft = sql`run.lease_expires_at < statement_timestamp() and run.cancel_requested_at is`;

/** Runs that no worker continues, and why: over `run` and `resource`, whose server has to be within reach. */
export const ABANDONED: readonly Abandoned[] = [
  { isMeant: sql`${isLeft} null`, status: "failed", message: STOPPED },
  { isMeant: sql`${isLeft} not null`, status: "cancelled-by-user", message: `${CANCELLED_BY_USER} ${STOPPED}` },
  { isMeant: isUnreached("run"), status: "failed", message: UNREACHED },
];

/** The last word of the event that reports an end. */
export const END_EVENTS: Readonly<Record<BackupOutcome, string>> = {
  success: "finished",
  failed: "failed",
  "cancelled-by-user": "cancelled",
};

/** Columns that a cancel reads. */
interface Cancellable {
  readonly uuid: string;
  readonly status: BackupStatus;
  readonly cancel_requested_at: Date | null;
  /** `null`: it waits. */
  readonly started_at: Date | null;
}

/**
 * What has ended, or is being cancelled, stays as it is. Locked in between, so that no worker takes or ends it.
 * @param end Ends one that waits: no worker would hear of it.
 * @param emitCancelRequest Of one that a worker runs.
 */
export async function cancelRun(
  { db }: Context,
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

/** Reads until it has ended, or for this time. */
export async function runEnd<Run extends { readonly status: BackupStatus }>(
  { database: { changes } }: Context,
  { uuid, secondsMax }: { readonly uuid: string; readonly secondsMax: number },
  read: () => Promise<Run | undefined>,
): Promise<Run | undefined> {
  const untilMs = performance.now() + secondsMax * 1000;
  for (;;) {
    // Before the read: what ends in between is not waited for.
    const since = changes.clock();
    const run = await read();
    const leftMs = untilMs - performance.now();
    if (run === undefined || backupStates.isTerminal(run.status) || leftMs <= 0) return run;
    await changes.wait(runTopic(uuid), since, NEVER, Math.min(leftMs, WAIT_MS_MAX));
  }
}

const NEVER = new AbortController().signal;
/** How long a lost notification stays unnoticed. */
const WAIT_MS_MAX = 1000;
