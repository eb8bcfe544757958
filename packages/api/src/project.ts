import { CreatedUuid, Message } from "@berth/core";
import { Project, ProjectChanged, ProjectCreate, ProjectSummary, ProjectUpdate } from "@berth/core/team";
import { z } from "zod";
import { environments } from "./environment.ts";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";

const uuid = z.string().describe("The project's identifier.");

export const projects = {
  environments,

  list: operation({
    method: "GET",
    path: "/projects",
    operationId: "list-projects",
    tag: "Projects",
    summary: "List projects",
    description: "Without their environments: read one project for those.",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(ProjectSummary))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.projects.list(input), input)]),

  create: operation({
    method: "POST",
    path: "/projects",
    operationId: "create-project",
    tag: "Projects",
    summary: "Create a project",
    description: "With its first environment, `production`.",
    ability: "write",
    status: 201,
  })
    .input(ProjectCreate)
    .output(CreatedUuid)
    .mutation(({ ctx, input }) => ctx.control.projects.create(input)),

  get: operation({
    method: "GET",
    path: "/projects/{uuid}",
    operationId: "get-project-by-uuid",
    tag: "Projects",
    summary: "Get a project with its environments",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Project)
    .query(({ ctx, input }) => ctx.control.projects.get(input.uuid)),

  update: operation({
    method: "PATCH",
    path: "/projects/{uuid}",
    operationId: "update-project-by-uuid",
    tag: "Projects",
    summary: "Change a project",
    ability: "write",
    status: 201,
  })
    .input(ProjectUpdate.extend({ uuid }))
    .output(ProjectChanged)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.projects.update(uuid, change)),

  delete: operation({
    method: "DELETE",
    path: "/projects/{uuid}",
    operationId: "delete-project-by-uuid",
    tag: "Projects",
    summary: "Delete a project",
    description: "With its environments. Refused while it has resources.",
    ability: "write",
    errors: ["resource.in_use"],
  })
    .input(z.strictObject({ uuid }))
    .output(Message)
    .mutation(({ ctx, input }) => ctx.control.projects.delete(input.uuid)),
};
