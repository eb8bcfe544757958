import { Message } from "@berth/core";
import { Command, CommandCreate, KINDS_WITH_TASKS } from "@berth/core/schedule";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { onResource, perKind } from "./per-kind.ts";

const command_uuid = z.string().describe("The command's identifier.");

export const commands = perKind(KINDS_WITH_TASKS, (kind) => ({
  run: onResource(kind, {
    method: "POST",
    path: "/commands",
    operationId: "run-command-by-{kind}-uuid",
    summary: "Run a command once",
    description:
      "In the environment of what runs, as its user, without standard input. Answers at once: `GET` of the command shows its output as it comes.",
    ability: "write",
    status: 201,
    errors: ["resource.not_running", "resource.already_running"],
    input: CommandCreate,
  })
    .output(Command)
    .mutation(({ ctx, input: { uuid, ...command } }) => ctx.control.commands.run({ kind, uuid }, command)),

  list: onResource(kind, {
    method: "GET",
    path: "/commands",
    operationId: "list-commands-by-{kind}-uuid",
    summary: "List commands that were run once",
    description: "Newest first. The last hundred are kept.",
    ability: "read",
    input: z.strictObject(paging),
  })
    .output(z.array(Command))
    .query(async ({ ctx, input: { uuid, ...page } }) => [
      ...listed(ctx, await ctx.control.commands.list({ kind, uuid }, page), page),
    ]),

  get: onResource(kind, {
    method: "GET",
    path: "/commands/{command_uuid}",
    operationId: "get-command-by-{kind}-uuid",
    summary: "Get a command that was run once",
    description: "While it runs, `output` grows: text is only ever added to it.",
    ability: "read",
    input: z.strictObject({ command_uuid }),
  })
    .output(Command)
    .query(({ ctx, input: { uuid, command_uuid } }) => ctx.control.commands.get({ kind, uuid }, command_uuid)),

  delete: onResource(kind, {
    method: "DELETE",
    path: "/commands/{command_uuid}",
    operationId: "delete-command-by-{kind}-uuid",
    summary: "End and delete a command",
    description: "One that runs is ended within seconds. What it printed goes with it.",
    ability: "write",
    input: z.strictObject({ command_uuid }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, command_uuid } }) => ctx.control.commands.delete({ kind, uuid }, command_uuid)),
}));
