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
    summary: kind === "database" ? "List what uses a database" : `List the databases that ${article(kind)} uses`,
    description: "By variables that name a database, such as `{{ database.shop.url }}`.",
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
      "Gives the resource a variable that names the database. Its deployments put the URL there, with the address that " +
      "works from where the resource runs and the password of that moment. Refused where no address works. Doing it " +
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
    description: "Deletes the variables that are its URL. What runs has it until its next deployment.",
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
