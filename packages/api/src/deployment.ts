import type { FollowedEvent } from "@berth/control";
import {
  Deployment,
  DeploymentCancelled,
  DeploymentEvent,
  DeploymentLogPage,
  DeploymentPage,
  DeploymentStepView,
  DeployRequestResult,
} from "@berth/core/deploy";
import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";
import { tracked } from "@trpc/server";
import { z } from "zod";
import { listed, pagingOf } from "./list.ts";
import { operation } from "./operation.ts";
import { article } from "./per-kind.ts";
import { resumable } from "./stream.ts";

const uuid = z.string().describe("The deployment's identifier.");
const pullRequest = z.int().min(0).max(2_147_483_647);

export const deploy = operation({
  method: "POST",
  path: "/deploy",
  operationId: "deploy-by-tag-or-uuid",
  tag: "Deployments",
  summary: "Deploy resources by uuid or by tag",
  description:
    "Send `uuid` or `tag`, each a list separated by commas. Either all of them are queued or, if the queue is full, " +
    "none. Services and, by uuid, databases are started. An application whose commit is already queued or being " +
    "deployed is not queued again, unless `force` is set. With `pull_request_id` its preview is created and deployed, " +
    "if is_preview_deployments_enabled is on. An application on several servers has one entry for each, the primary " +
    "one first.",
  ability: "deploy",
  alsoByGet: true,
  ignoresEmptyFields: true,
  query: ["uuid", "tag", "force", "pr", "pull_request_id", "docker_tag", "server_uuid"],
  errors: [
    "request.malformed",
    "resource.not_found",
    "resource.state",
    "domain.conflict",
    "queue.full",
    "engine.unsupported",
  ],
})
  .input(
    z.strictObject({
      uuid: z.string().optional().describe("At most 100 identifiers, separated by commas. Unknown ones are ignored."),
      tag: z.string().optional().describe("Names of at most 100 tags, separated by commas."),
      force: z.boolean().optional().describe("Build without cache, and queue it even if it is already queued."),
      pr: pullRequest.optional().describe("The same as pull_request_id."),
      pull_request_id: pullRequest.optional().describe("Deploy the preview of this pull request. 0: none."),
      docker_tag: z
        .string()
        .regex(/^\w[\w.-]{0,127}$/, "Not a tag of an image.")
        .optional()
        .describe("For an application made from an image: the tag that the pull request's preview runs."),
      server_uuid: z
        .string()
        .optional()
        .describe("Deploy to this one of the servers of an application. Default: to each of them."),
    }),
  )
  .output(DeployRequestResult)
  .mutation(({ ctx, input }) => ctx.control.deploy(input));

const listOf = (kind: ResourceKind, operationId: string) =>
  operation({
    method: "GET",
    path: `/deployments/${RESOURCE_KINDS[kind].plural}/{uuid}`,
    operationId,
    tag: "Deployments",
    summary: `List the deployments of ${article(kind)}`,
    description: "Newest first.",
    ability: "read",
  })
    .input(
      z.strictObject({
        uuid: z.string().describe(`The ${kind}'s identifier.`),
        pull_request_id: pullRequest.optional().describe("Only deployments of this pull request; 0: of none."),
        ...pagingOf(10),
      }),
    )
    .output(DeploymentPage)
    .query(async ({ ctx, input: { uuid, ...page } }) => {
      const found = await ctx.control.deployments.listByResource({ kind, uuid }, page);
      return { count: found.total, deployments: [...listed(ctx, found, page)] };
    });

export const deployments = {
  list: operation({
    method: "GET",
    path: "/deployments",
    operationId: "list-deployments",
    tag: "Deployments",
    summary: "List the waiting and running deployments",
    description: "Deployments of applications of the whole team, oldest first.",
    ability: "read",
  })
    .input(z.strictObject(pagingOf(100)))
    .output(z.array(Deployment))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.deployments.listActive(input), input)]),

  listByApplication: listOf("application", "list-deployments-by-app-uuid"),
  listByService: listOf("service", "list-deployments-by-service-uuid"),
  listByDatabase: listOf("database", "list-deployments-by-database-uuid"),

  get: operation({
    method: "GET",
    path: "/deployments/{uuid}",
    operationId: "get-deployment-by-uuid",
    tag: "Deployments",
    summary: "Get a deployment",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Deployment)
    .query(({ ctx, input }) => ctx.control.deployments.get(input.uuid)),

  cancel: operation({
    method: "POST",
    path: "/deployments/{uuid}/cancel",
    operationId: "cancel-deployment-by-uuid",
    tag: "Deployments",
    summary: "Cancel a deployment",
    description:
      "Answers when its work has ended, within seconds. `status` is `in_progress` in the answer if that takes longer; " +
      "it is then cancelled as soon as the work has ended.",
    ability: "deploy",
    errors: ["deployment.not_cancellable"],
  })
    .input(z.strictObject({ uuid }))
    .output(DeploymentCancelled)
    .mutation(({ ctx, input }) => ctx.control.deployments.cancel(input.uuid)),

  steps: operation({
    method: "GET",
    path: "/deployments/{uuid}/steps",
    operationId: "list-steps-by-deployment-uuid",
    tag: "Deployments",
    summary: "List the steps of a deployment",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(z.array(DeploymentStepView))
    .query(({ ctx, input }) => ctx.control.deployments.steps(input.uuid)),

  logs: operation({
    method: "GET",
    path: "/deployments/{uuid}/logs",
    operationId: "get-deployment-logs-by-uuid",
    tag: "Deployments",
    summary: "Read the log of a deployment",
    description: "Hidden lines are returned only to tokens with `read:sensitive`.",
    ability: "read",
  })
    .input(
      z.strictObject({
        uuid,
        after: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("Only lines after this `seq`."),
        take: z.int().min(1).max(1000).default(1000).describe("Maximum number of lines."),
      }),
    )
    .output(DeploymentLogPage)
    .query(({ ctx, input: { uuid, ...query } }) => ctx.control.deployments.log(uuid, query)),

  follow: operation({
    method: "GET",
    path: "/deployments/{uuid}/logs/follow",
    operationId: "follow-deployment-by-uuid",
    tag: "Deployments",
    summary: "Follow a deployment",
    description: "Streams the lines of its log and the changes of its state, from the beginning until it has ended.",
    ability: "read",
    events: DeploymentEvent,
  })
    .input(
      z.strictObject({
        uuid,
        after: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0).describe("Only lines after this `seq`."),
        ...resumable,
      }),
    )
    .subscription(async ({ ctx, input: { uuid, after, lastEventId }, signal }) => {
      const resumed = Number(lastEventId ?? after);
      const from = Number.isSafeInteger(resumed) && resumed > 0 ? resumed : after;
      return trackedEvents(await ctx.control.deployments.follow(uuid, { after: from, signal: signal ?? ctx.signal }));
    }),
};

async function* trackedEvents(events: AsyncIterable<FollowedEvent>) {
  for await (const { cursor, event } of events) yield tracked(String(cursor), event);
}
