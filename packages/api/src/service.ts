import type { ErrorCode } from "@berth/core";
import {
  SavedService,
  Service,
  ServiceCreate,
  ServiceCreateOneClick,
  ServiceTemplate,
  ServiceTemplateFilter,
  ServiceUpdate,
} from "@berth/core/service";
import { z } from "zod";
import { attachments } from "./attachment.ts";
import { creation } from "./creation.ts";
import { envs } from "./env.ts";
import { lifecycle } from "./lifecycle.ts";
import { listed, paging } from "./list.ts";
import { logs } from "./log.ts";
import { metrics } from "./metric.ts";
import { moves } from "./move.ts";
import { operation } from "./operation.ts";
import { OPERATOR } from "./operation-options.ts";
import { containers } from "./running-container.ts";
import { scheduledTasks } from "./scheduled-task.ts";
import { storages } from "./storage.ts";
import { resourceTags } from "./tag.ts";

const uuid = z.string().describe("The service's identifier.");

const CREATE = {
  ...creation,
  tag: "Services",
  extras: [OPERATOR.powers],
  errors: [...creation.errors, "domain.conflict"] satisfies ErrorCode[],
} as const;

export const services = {
  attachments: attachments.service,
  metrics: metrics.service,
  envs: envs.service,
  containers: containers.service,
  logs: logs.service,
  scheduledTasks: scheduledTasks.service,
  storages: storages.service,
  tags: resourceTags.service,
  ...lifecycle.service,
  ...moves.service,

  list: operation({
    method: "GET",
    path: "/services",
    operationId: "list-services",
    tag: "Services",
    summary: "List services",
    ability: "read",
  })
    .input(z.strictObject(paging))
    .output(z.array(Service))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.services.list(input), input)]),

  create: operation({
    ...CREATE,
    path: "/services",
    operationId: "create-service",
    summary: "Create a service from a compose file or a template",
    description:
      "Send exactly one of `docker_compose`, `docker_compose_raw` and `type`. If one of its URLs is taken, nothing is " +
      "created.",
  })
    .input(ServiceCreate)
    .output(SavedService)
    .mutation(({ ctx, input }) => ctx.control.services.create(input)),

  createOneClick: operation({
    ...CREATE,
    path: "/services/one-click",
    operationId: "create-one-click-service",
    summary: "Create a one-click service",
    description: "`GET /services/templates` lists the types. If one of its URLs is taken, nothing is created.",
  })
    .input(ServiceCreateOneClick)
    .output(SavedService)
    .mutation(({ ctx, input }) => ctx.control.services.createOneClick(input)),

  templates: operation({
    method: "GET",
    path: "/services/templates",
    operationId: "list-service-templates",
    tag: "Services",
    summary: "List the available one-click services",
    ability: "read",
    isMadeWhole: true,
  })
    .input(z.strictObject({ ...ServiceTemplateFilter.shape, ...paging }))
    .output(z.array(ServiceTemplate))
    .query(async ({ ctx, input }) => [...listed(ctx, await ctx.control.services.templates(input), input)]),

  update: operation({
    method: "PATCH",
    path: "/services/{uuid}",
    operationId: "update-service-by-uuid",
    tag: "Services",
    summary: "Change a service",
    description:
      "Omitted fields keep their values. A new compose file changes containers, storages and variables; existing values " +
      "are kept. Everything is changed, or nothing. URLs take effect at once; all else applies from the " +
      "next start on. With dry_run nothing is changed, and the answer says what would be changed.",
    ability: "write",
    extras: [OPERATOR.powers],
    errors: ["domain.conflict", "engine.unsupported"],
  })
    .input(ServiceUpdate.extend({ uuid }))
    .output(SavedService)
    .mutation(({ ctx, input: { uuid, ...change } }) => ctx.control.services.update(uuid, change)),

  get: operation({
    method: "GET",
    path: "/services/{uuid}",
    operationId: "get-service-by-uuid",
    tag: "Services",
    summary: "Get a service with its containers",
    ability: "read",
  })
    .input(z.strictObject({ uuid }))
    .output(Service)
    .query(({ ctx, input }) => ctx.control.services.get(input.uuid)),
};
