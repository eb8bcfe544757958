import { DomainCheck } from "@berth/core/application";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource } from "./per-kind.ts";

export const domainChecks = {
  list: onResource("application", {
    method: "GET",
    path: "/domain-checks",
    operationId: "list-domain-checks-by-application-uuid",
    summary: "Check the URLs of an application",
    description:
      "Asks DNS and the proxy of its server now, for at most 20 URLs at a time. That takes up to ten seconds where something does not answer.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(DomainCheck))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.domainChecks.list(uuid, page), page),
    ]),
};
