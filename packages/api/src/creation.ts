import type { ErrorCode } from "@berth/core";

/** What the creations of resources of every kind have in common. */
export const creation = {
  method: "POST",
  ability: "write",
  status: 201,
  errors: [
    "resource.not_found",
    "destination.missing",
    "destination.ambiguous",
    "engine.unsupported",
  ] satisfies ErrorCode[],
} as const;
