import { Message } from "@berth/core";
import { Attachment, DatabaseAttach, DatabaseDetach } from "@berth/core/database";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { article, onResource, perKind } from "./per-kind.ts";

const list = perKind(["application", "service", "database"], (kind) => ({
  list: onResource(kind, {
    method: "GET",
    path: "/attachments",
    operationId: "list-attachments-by-{kind}-uuid",
    summary:
      kind === "database" ? "List the resources that use a database" : `List the databases that ${article(kind)} uses`,
    description: "By variables that name a database, such as `{{ database.shop.url }}` or `{{ database.shop.host }}`.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(Attachment))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.attachments.list({ kind, uuid }, page), page),
    ]),
}));

const ofDatabase = {
  attach: onResource("database", {
    method: "POST",
    path: "/attachments",
    operationId: "attach-database-by-uuid",
    summary: "Attach a database to a resource",
    description:
      "Creates a variable of the resource that references the database. Its deployments insert the URL, with the address that " +
      "works from where the resource runs and the current password. Refused if no address works. Doing it " +
      "again changes nothing.",
    ability: "write",
    status: 201,
    errors: ["resource.already_exists"],
    input: DatabaseAttach,
  })
    .output(Attachment)
    .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.attachments.attach(uuid, sent)),

  detach: onResource("database", {
    method: "DELETE",
    path: "/attachments/{resource_uuid}",
    operationId: "detach-database-by-uuid",
    summary: "Detach a database from a resource",
    description:
      "Deletes the variables that contain only its URL. The running release has the URL until its next deployment.",
    ability: "write",
    query: ["as"],
    errors: ["resource.in_use"],
    input: DatabaseDetach,
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.attachments.detach(uuid, sent)),
};

/** Databases and the resources that use them. */
export const attachments = { ...list, database: { ...list.database, ...ofDatabase } };
