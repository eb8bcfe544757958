import { notFound } from "@berth/core";
import type { JobRecord, NewJob, Page, Paging, Stores } from "@berth/core/ports";
import { isJobOver, type Job, type JobQuery, jobView } from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";
import { followRun } from "./run-follow.ts";

export function jobs(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    async list({ skip, take, ...filter }: JobQuery & Paging): Promise<Page<Job>> {
      requireAbility(scope, "read");
      return mapPage(await stores.jobs.list(filter, { skip, take }), jobView);
    },

    async get(uuid: string): Promise<Job> {
      requireAbility(scope, "read");
      const job = await stores.jobs.find(uuid);
      if (job === undefined) throw notFound("Job");
      return jobView(job);
    },

    /** @throws DomainError `resource.not_found` */
    async follow(uuid: string, signal: AbortSignal): Promise<AsyncIterable<Job>> {
      requireAbility(scope, "read");
      const find = () => stores.jobs.find(uuid);
      const isOver = ({ status }: JobRecord) => isJobOver(status);
      return await followRun(context, { title: "Job", uuid, find, view: jobView, isOver }, signal);
    },
  };
}

/**
 * Must run in the transaction of the change that the work belongs to. Returns the unfinished job of the same work, if
 * there is one.
 */
export async function requestJob(
  { ids }: Pick<UseCaseContext, "ids">,
  tx: Stores,
  type: NewJob["type"],
  subject: NewJob["subject"],
): Promise<JobRecord> {
  const [job] = await tx.jobs.request([{ uuid: ids.uuid(), type, subject }]);
  if (job === undefined) throw notFound("Job");
  return job;
}
