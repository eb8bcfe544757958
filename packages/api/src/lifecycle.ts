import { ApplicationDelete, DeploymentQueued, Message } from "@berth/core";
import { z } from "zod";
import { onResource, perKind } from "./per-kind.ts";

const flag = (about: string) => z.boolean().optional().describe(about);

/** Starting, stopping and deleting. */
export const lifecycle = perKind(["application"], (kind) => ({
  start: onResource(kind, {
    method: "POST",
    path: "/start",
    operationId: "start-{kind}-by-uuid",
    summary: `Start an ${kind}`,
    description: "Queues a deployment. Refused while it runs, unless `force` is set.",
    ability: "deploy",
    alsoByGet: true,
    query: ["force", "instant_deploy"],
    errors: ["resource.already_running", "queue.full"],
    input: z.strictObject({
      force: flag("Also when it runs; builds without any cache."),
      instant_deploy: flag("At once, whatever else is under way."),
    }),
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid, ...options } }) => ctx.control.lifecycle.start({ kind, uuid }, options)),

  restart: onResource(kind, {
    method: "POST",
    path: "/restart",
    operationId: "restart-{kind}-by-uuid",
    summary: `Restart an ${kind}`,
    description: "Queues a deployment of what was built last, without building it again.",
    ability: "deploy",
    alsoByGet: true,
    errors: ["queue.full"],
  })
    .output(DeploymentQueued)
    .mutation(({ ctx, input: { uuid } }) => ctx.control.lifecycle.restart({ kind, uuid })),

  stop: onResource(kind, {
    method: "POST",
    path: "/stop",
    operationId: "stop-{kind}-by-uuid",
    summary: `Stop an ${kind}`,
    description: "It stays stopped until it is started or deployed again. Refused when it is stopped already.",
    ability: "deploy",
    alsoByGet: true,
    query: ["docker_cleanup"],
    errors: ["resource.already_stopped"],
    input: z.strictObject({ docker_cleanup: flag("Remove images that nothing uses any more. Default true.") }),
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid } }) => ctx.control.lifecycle.stop({ kind, uuid })),

  delete: onResource(kind, {
    method: "DELETE",
    path: "",
    operationId: "delete-{kind}-by-uuid",
    summary: `Delete an ${kind}`,
    description: "Answers at once. Its status is `removing` until nothing of it is left, then it reads as not found.",
    ability: "write",
    input: ApplicationDelete,
  })
    .output(Message)
    .mutation(({ ctx, input: { uuid, ...flags } }) => ctx.control.lifecycle.delete({ kind, uuid }, flags)),
}));
