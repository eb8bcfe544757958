import type { ErrorCode } from "@berth/core";
import {
  type ResourceKind,
  ResourceMigrate,
  ResourceMigrated,
  ResourceMove,
  ResourceMoved,
} from "@berth/core/resource";
import { article, onResource, perKind } from "./per-kind.ts";

/** Only databases are used by other resources. */
const ERRORS = {
  application: ["resource.state"],
  service: ["resource.state"],
  database: ["resource.state", "resource.in_use"],
} as const satisfies Record<ResourceKind, readonly ErrorCode[]>;

/** Moves resources between environments. */
export const moves = perKind(["application", "service", "database"], (kind) => ({
  move: onResource(kind, {
    method: "POST",
    path: "/move",
    operationId: "move-{kind}-by-uuid",
    summary: `Move ${article(kind)} to another environment`,
    description:
      "Of any project of the team. What runs continues; shared variables and databases of the new environment count from the next deployment on. Refused if references between it and its environment would be lost, unless `force` is set.",
    ability: "write",
    errors: ERRORS[kind],
    input: ResourceMove,
  })
    .output(ResourceMoved)
    .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.moves.move({ kind, uuid }, sent)),
}));

/** Moves applications between servers. */
export const migrate = onResource("application", {
  method: "POST",
  path: "/migrate",
  operationId: "migrate-{kind}-by-uuid",
  summary: "Move an application to another destination",
  description:
    "Of any server of the team. One that runs is deployed there from the commit that runs, and continues where it was until that deployment has switched. Refused while it is deployed, while it has previews, or with data, which is not copied, unless `migrate_volumes` is false.",
  ability: "write",
  errors: ["resource.state", "resource.already_exists", "engine.unsupported", "queue.full"],
  input: ResourceMigrate,
})
  .output(ResourceMigrated)
  .mutation(({ ctx, input: { uuid, ...sent } }) => ctx.control.migrations.migrate(uuid, sent));
