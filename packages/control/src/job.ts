import {
  type Job,
  type JobQuery,
  type JobRecord,
  jobView,
  type NewJob,
  notFound,
  type Page,
  type Paging,
  requireAbility,
  type Stores,
} from "@berth/core";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

export function jobs({ scope, stores }: UseCaseContext) {
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
  };
}

/** In the transaction of the change that the work belongs to. Answers the job that has not ended yet, if there is one. */
export async function requestJob(
  { ids }: Pick<UseCaseContext, "ids">,
  inside: Stores,
  type: NewJob["type"],
  subject: NewJob["subject"],
): Promise<JobRecord> {
  const [job] = await inside.jobs.request([{ uuid: ids.uuid(), type, subject }]);
  if (job === undefined) throw notFound("Job");
  return job;
}
