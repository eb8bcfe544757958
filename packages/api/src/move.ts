import type { ErrorCode } from "@berth/core";
import { type ResourceKind, ResourceMove, ResourceMoved } from "@berth/core/resource";
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
