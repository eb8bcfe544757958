import { Job, JobQuery } from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import { resumable } from "./stream.ts";

export const jobs = {
  list: operation({
    method: "GET",
    path: "/jobs",
    operationId: "list-jobs",
    tag: "Jobs",
    summary: "List jobs",
    description:
      "Work that continues after its request was answered, newest first. Jobs that have ended are kept for a while.",
    ability: "read",
  })
    .input(JobQuery.extend(paging))
    .output(z.array(Job))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.jobs.list(input), input)]),

  get: operation({
    method: "GET",
    path: "/jobs/{uuid}",
    operationId: "get-job-by-uuid",
    tag: "Jobs",
    summary: "Get a job",
    ability: "read",
  })
    .input(z.strictObject({ uuid: z.string().describe("The job's identifier.") }))
    .output(Job)
    .query(({ ctx, input }) => ctx.control.jobs.get(input.uuid)),

  follow: operation({
    method: "GET",
    path: "/jobs/{uuid}/follow",
    operationId: "follow-job-by-uuid",
    tag: "Jobs",
    summary: "Follow a job",
    description: "The job now, and again each time that it has changed, until it has ended.",
    ability: "read",
    events: Job,
  })
    .input(z.strictObject({ uuid: z.string().describe("The job's identifier."), ...resumable }))
    .subscription(({ ctx, input, signal }) => ctx.control.jobs.follow(input.uuid, signal ?? ctx.signal)),
};
