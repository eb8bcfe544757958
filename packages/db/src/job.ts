import { DomainError, notFound } from "@berth/core";
import type { JobFilter, JobRecord, JobStore, NewJob, SystemJobStore } from "@berth/core/ports";
import { sql } from "kysely";
import { idsOf, inTransaction, notifyRun, type StoreContext, type TeamContext, wakeWorkers } from "./context.ts";
import { emitJobEvent, endJobs, isAbout, isActiveJob, JOB_COLUMNS, type JobSubject } from "./job-row.ts";
import { isWithinShare, leaseEnd, renewRuns, runsByTeam, runsOfTeam } from "./leased-run.ts";
import { countRows, ofOwner, page, within } from "./page.ts";
import { updateRuns } from "./run.ts";
import { storable, storableJson } from "./storable.ts";

export function jobStore(context: TeamContext): JobStore {
  const { db, teamId } = context;
  const own = () => db.selectFrom("job").where("job.team_id", "=", teamId);
  const matching = ({ status, type, subject }: JobFilter) => {
    let query = own();
    if (status !== undefined) query = query.where("job.status", "=", status);
    if (type !== undefined) query = query.where("job.type", "=", type);
    if (subject !== undefined) query = query.where("job.subject_uuid", "=", subject);
    return query;
  };
  return {
    list: (filter, paging = {}) =>
      page(
        paging,
        (window) => {
          const jobs = matching(filter).select(JOB_COLUMNS);
          const newestFirst = { owner: "job.team_id", is: teamId, id: "job.id", direction: "desc" } as const;
          return within(ofOwner(jobs, newestFirst), window).execute();
        },
        // Ended jobs are pruned, so the index is small enough to count.
        () => countRows(matching(filter)),
      ),
    find: (uuid) =>
      own().select(JOB_COLUMNS).select(["job.log", "job.steps"]).where("job.uuid", "=", uuid).executeTakeFirst(),
    request: (jobs) => inTransaction(context, (tx) => request(tx, jobs)),
  };
}

/** Below the limit of a statement's parameters. */
const BATCH = 1000;
const ATTEMPTS_MAX = 5;

async function request(context: TeamContext, wanted: readonly NewJob[]): Promise<readonly JobRecord[]> {
  const found = new Map<string, JobRecord>();
  for (let from = 0; from < wanted.length; from += BATCH) {
    for (const job of await requestBatch(context, wanted.slice(from, from + BATCH))) found.set(keyOf(job), job);
  }
  if (wanted.length > 0) wakeWorkers(context, "job");
  return wanted.flatMap(({ type, subject }) => found.get(keyOf({ type, subject_id: subject.id })) ?? []);
}

const keyOf = ({ type, subject_id }: JobSubject) => `${type} ${subject_id}`;

/** @throws DomainError `resource.not_found` */
async function requireOwnSubjects({ db, teamId }: TeamContext, jobs: readonly NewJob[]): Promise<void> {
  for (const [thing, rowsOfTeam] of Object.entries(SUBJECTS)) {
    const subjects = jobs.filter(({ subject }) => thingOf(subject.type) === thing);
    const ids = [...new Set(subjects.map(({ subject }) => subject.id))];
    if (ids.length === 0) continue;
    const { rows } = await sql<{ total: number }>`select count(*) as total from ${rowsOfTeam(teamId)}
      where own.id in ${idsOf(ids)}`.execute(db);
    if (rows[0]?.total !== ids.length) throw notFound(thing);
  }
}

/** For each type of subject, a query of ids and names in a team, used as `own`. */
const SUBJECTS = {
  Server: (teamId: number) => sql`(select id from server where team_id = ${teamId}) own`,
  Resource: (teamId: number) => sql`(select id from resource where team_id = ${teamId}) own`,
  Preview: (teamId: number) => sql`(select application_preview.id from application_preview
    join resource on resource.id = resource_id where team_id = ${teamId}) own`,
};

function thingOf(type: NewJob["subject"]["type"]): keyof typeof SUBJECTS {
  if (type === "server") return "Server";
  return type === "preview" ? "Preview" : "Resource";
}

async function requestBatch(context: TeamContext, wanted: readonly NewJob[]): Promise<readonly JobRecord[]> {
  await requireOwnSubjects(context, wanted);
  const found: JobRecord[] = [];
  let missing = wanted;
  for (let attempt = 1; missing.length > 0; attempt += 1) {
    // The active job may have ended between the two statements; then a new one can be inserted.
    if (attempt > ATTEMPTS_MAX) throw new DomainError("internal.error", "A job could not be queued.");
    const inserted = await insert(context, missing);
    for (const job of inserted) emitJobEvent(context, job);
    found.push(...inserted);
    missing = without(missing, inserted);
    if (missing.length === 0) break;
    const active = await activeOf(context, missing);
    found.push(...active);
    missing = without(missing, active);
  }
  return found;
}

function without(wanted: readonly NewJob[], found: readonly JobRecord[]): readonly NewJob[] {
  const keys = new Set(found.map(keyOf));
  return wanted.filter(({ type, subject }) => !keys.has(keyOf({ type, subject_id: subject.id })));
}

const insert = ({ db, teamId }: TeamContext, jobs: readonly NewJob[]): Promise<JobRecord[]> =>
  db
    .insertInto("job")
    .values(
      jobs.map(({ uuid, type, subject }) => ({
        uuid,
        team_id: teamId,
        type,
        subject_type: subject.type,
        subject_id: subject.id,
        subject_uuid: subject.uuid,
        subject_name: subject.name,
      })),
    )
    // An error would abort the caller's transaction.
    .onConflict((conflict) => conflict.doNothing())
    .returning(JOB_COLUMNS)
    .execute();

const activeOf = ({ db, teamId }: TeamContext, jobs: readonly NewJob[]): Promise<JobRecord[]> =>
  db
    .selectFrom("job")
    .select(JOB_COLUMNS)
    .where("job.team_id", "=", teamId)
    .where("job.subject_id", "in", idsOf(jobs.map(({ subject }) => subject.id)))
    .where(isActiveJob)
    .execute();

export function systemJobStore(context: StoreContext): SystemJobStore {
  return {
    begin: (subject) => inTransaction(context, (tx) => begin(tx, subject)),
    async note(subject, error) {
      const noted = context.db
        .updateTable("job")
        .set({ error: error && storable(error), updated_at: sql<Date>`now()` })
        .where(isAbout(subject))
        .where("error", "is distinct from", error && storable(error))
        .returning("job.uuid");
      await updateRuns(context, sql`${noted}`);
    },
    async lastRequests(type, subjectIds) {
      // One index lookup per subject, instead of reading all requests.
      const { rows } = await sql<{ readonly id: number; readonly created_at: Date }>`
        select asked.id, last.created_at from unnest(${subjectIds}::bigint[]) as asked(id)
        cross join lateral (select created_at from job where job.subject_id = asked.id and job.type = ${type}
          order by job.id desc limit 1) as last`.execute(context.db);
      return new Map(rows.map(({ id, created_at }) => [id, created_at]));
    },
    claim: (types, subjectIds, request) => inTransaction(context, (tx) => claim(tx, types, subjectIds, request)),
    renew: renewRuns(context, "job"),
    finish: ({ job_id, owner, attempt }, status, error) =>
      inTransaction(context, async (tx) => {
        const isHeld = sql<boolean>`job.id = ${job_id} and job.lease_owner = ${owner} and job.attempts = ${attempt}`;
        return (await endJobs(tx, isHeld, status, error)).length > 0;
      }),
    async writeLog({ job_id, owner, attempt }, log) {
      const written = context.db
        .updateTable("job")
        .set({ log: storable(log), updated_at: sql<Date>`now()` })
        .where("id", "=", job_id)
        .where("lease_owner", "=", owner)
        .where("attempts", "=", attempt)
        .returning("job.uuid");
      return await updateRuns(context, sql`${written}`);
    },
    writeSteps: ({ job_id, owner, attempt }, steps) =>
      inTransaction(context, async (tx) => {
        const job = await tx.db
          .updateTable("job")
          .set({ steps: storableJson(steps), updated_at: sql<Date>`now()` })
          .where("id", "=", job_id)
          .where("lease_owner", "=", owner)
          .where("attempts", "=", attempt)
          .returning(JOB_COLUMNS)
          .executeTakeFirst();
        if (job !== undefined) emitJobEvent(tx, job, "progressed");
        return job !== undefined;
      }),
    async prune(keptDays) {
      const { numDeletedRows } = await context.db
        .deleteFrom("job")
        .where(sql<boolean>`job.status in ('finished', 'failed')`)
        .where("finished_at", "<", sql<Date>`now() - ${keptDays}::int * interval '1 day'`)
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

/** Writes nothing while an attempt continues, since the removal calls it every few seconds. */
async function begin(context: StoreContext, subject: JobSubject): Promise<void> {
  const before = await context.db
    .selectFrom("job")
    .select(["job.id", "job.status"])
    .where(isAbout(subject))
    .where(sql<boolean>`(job.status = 'queued' or job.error is not null)`)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (before === undefined) return;
  const job = await context.db
    .updateTable("job")
    .set({
      status: "in_progress",
      attempts: sql<number>`attempts + 1`,
      started_at: sql<Date>`coalesce(started_at, now())`,
      updated_at: sql<Date>`now()`,
    })
    .where("id", "=", before.id)
    .returning(JOB_COLUMNS)
    .executeTakeFirstOrThrow();
  if (before.status === "queued") emitJobEvent(context, job);
  else notifyRun(context, job.uuid);
}

async function claim(
  context: StoreContext,
  types: Parameters<SystemJobStore["claim"]>[0],
  subjectIds: readonly number[],
  request: Parameters<SystemJobStore["claim"]>[2],
): ReturnType<SystemJobStore["claim"]> {
  const { owner, leaseSeconds } = request;
  const running = sql`select team_id from job where status = 'in_progress' and lease_expires_at > clock_timestamp()`;
  const next = await context.db
    .with(
      (busy) => busy("busy").materialized(),
      () => runsByTeam(running),
    )
    .selectFrom("job")
    .select(["job.id", "job.status"])
    .where(isWithinShare(request, "job.team_id"))
    .where("job.type", "in", types)
    .where("job.subject_id", "in", idsOf(subjectIds))
    .where(isActiveJob)
    .where(sql<boolean>`(job.lease_expires_at is null or job.lease_expires_at <= clock_timestamp())`)
    .orderBy(runsOfTeam("job.team_id"))
    .orderBy("job.id")
    .limit(1)
    .forNoKeyUpdate("job")
    .skipLocked()
    .executeTakeFirst();
  if (next === undefined) return undefined;
  const job = await context.db
    .updateTable("job")
    .set({
      status: "in_progress",
      attempts: sql<number>`attempts + 1`,
      lease_owner: owner,
      lease_expires_at: leaseEnd(leaseSeconds),
      started_at: sql<Date>`coalesce(started_at, now())`,
      updated_at: sql<Date>`now()`,
    })
    .where("id", "=", next.id)
    .returning(JOB_COLUMNS)
    .executeTakeFirstOrThrow();
  if (next.status === "queued") emitJobEvent(context, job);
  else notifyRun(context, job.uuid);
  return { lease: { job_id: job.id, owner, attempt: job.attempts }, job };
}
