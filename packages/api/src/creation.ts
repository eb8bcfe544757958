import type { ErrorCode } from "@berth/core";

/** Options that creations of every kind share. */
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
