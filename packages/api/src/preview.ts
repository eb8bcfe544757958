import { ApplicationPreview } from "@berth/core/application";
import { JobStarted } from "@berth/core/server";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The application's identifier.");
const WRONG_NUMBER = "Invalid pull_request_id.";

export const previews = {
  list: operation({
    method: "GET",
    path: "/applications/{uuid}/previews",
    operationId: "list-previews-by-application-uuid",
    tag: "Applications",
    summary: "List the previews of an application",
    description: "One for each deployed open pull request, with its URL and status.",
    ability: "read",
  })
    .input(z.strictObject({ uuid, ...paging }))
    .output(z.array(ApplicationPreview))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.previews.list(uuid, page), page),
    ]),

  delete: operation({
    method: "DELETE",
    path: "/applications/{uuid}/previews/{pull_request_id}",
    operationId: "delete-preview-deployment-by-pull-request-id",
    tag: "Applications",
    summary: "Delete the preview of a pull request",
    description:
      "Ends its deployments, then removes its containers, its URL and its own storages, within seconds. The job shows its progress.",
    ability: "write",
  })
    .input(
      z.strictObject({
        uuid,
        pull_request_id: z
          .int({ error: WRONG_NUMBER })
          .min(1, WRONG_NUMBER)
          .max(2_147_483_647, WRONG_NUMBER)
          .describe("Number of the pull request."),
      }),
    )
    .output(JobStarted)
    .mutation(({ ctx, input }) => ctx.control.previews.delete(input.uuid, input.pull_request_id)),
};
