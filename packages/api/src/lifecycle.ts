import { type ErrorCode, Message } from "@berth/core";
import {
  DatabaseDelete,
  DeploymentQueued,
  DeploymentStart,
  ResourceDelete,
  ResourceRestart,
  ResourceStop,
} from "@berth/core/deploy";
import type { ResourceKind } from "@berth/core/resource";
import { JobStarted } from "@berth/core/server";
import { z } from "zod";
import { article, onResource, perKind } from "./per-kind.ts";

/** Only databases are used by other resources. */
const DELETE_INPUT = { application: ResourceDelete, service: ResourceDelete, database: DatabaseDelete } as const;
const DELETE_ERRORS = { application: [], service: [], database: ["resource.in_use"] } as const satisfies Record<
  ResourceKind,
  readonly ErrorCode[]
>;

/** Only services can pull newer images. */
const RESTART_INPUT = { service: ResourceRestart, database: z.strictObject({}) } as const;

/** Starting differs between kinds. */
const applicationStart = {
  start: onResource("application", {
    method: "POST",
    path: "/start",
    operationId: "start-{kind}-by-uuid",
    summary: "Start an application",
    description:
      "Queues a deployment. After a rollback it runs what that chose, without a build. Refused while it runs, unless `force` is set.",
    ability: "deploy",
    alsoByGet: true,
    query: ["force", "instant_deploy"],
    errors: ["resource.already_running", "queue.full", "cluster.no_leader"],
    input: DeploymentStart,
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid, ...options } }) =>
      ctx.control.lifecycle.start({ kind: "application", uuid }, options),
    ),

  restart: onResource("application", {
    method: "POST",
    path: "/restart",
    operationId: "restart-{kind}-by-uuid",
    summary: "Restart an application",
    description: "Queues a deployment of the last build, without building again.",
    ability: "deploy",
    alsoByGet: true,
    errors: ["queue.full", "cluster.no_leader"],
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid } }) => ctx.control.lifecycle.restart({ kind: "application", uuid })),
};

const recordStart = perKind(["service", "database"], (kind) => ({
  start: onResource(kind, {
    method: "POST",
    path: "/start",
    operationId: "start-{kind}-by-uuid",
    summary: `Start a ${kind}`,
    description: "Queues a deployment with the current settings. Refused while it runs.",
    ability: "deploy",
    alsoByGet: true,
    errors: ["resource.already_running", "resource.state", "queue.full", "engine.unsupported", "cluster.no_leader"],
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid } }) => ctx.control.lifecycle.start({ kind, uuid })),

  restart: onResource(kind, {
    method: "POST",
    path: "/restart",
    operationId: "restart-{kind}-by-uuid",
    summary: `Restart a ${kind}`,
    description: "Queues a deployment with the current settings.",
    ability: "deploy",
    alsoByGet: true,
    query: Object.keys(RESTART_INPUT[kind].shape),
    errors: ["resource.state", "queue.full", "engine.unsupported", "cluster.no_leader"],
    input: RESTART_INPUT[kind],
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid } }) => ctx.control.lifecycle.restart({ kind, uuid })),
}));

const anyKind = perKind(["application", "service", "database"], (kind) => ({
  stop: onResource(kind, {
    method: "POST",
    path: "/stop",
    operationId: "stop-{kind}-by-uuid",
    summary: `Stop ${article(kind)}`,
    description: "It stays stopped until it is started or deployed again. Refused if it is already stopped.",
    ability: "deploy",
    alsoByGet: true,
    query: ["docker_cleanup"],
    errors: ["resource.already_stopped", "cluster.no_leader"],
    input: ResourceStop,
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, ...options } }) => ctx.control.lifecycle.stop({ kind, uuid }, options)),

  delete: onResource(kind, {
    method: "DELETE",
    path: "",
    operationId: "delete-{kind}-by-uuid",
    summary: `Delete ${article(kind)}`,
    description:
      "Answers at once. Its status is `removing` until everything is removed; afterwards it is not found. The job shows its progress.",
    ability: "write",
    errors: DELETE_ERRORS[kind],
    input: DELETE_INPUT[kind],
  })
    .output(JobStarted)
    .mutation(({ ctx, input: { uuid, ...flags } }) => ctx.control.lifecycle.delete({ kind, uuid }, flags)),
}));

/** Starts, stops and deletes resources. */
export const lifecycle = {
  application: { ...applicationStart, ...anyKind.application },
  service: { ...recordStart.service, ...anyKind.service },
  database: { ...recordStart.database, ...anyKind.database },
};
