import { ERRORS, type ErrorCategory, type ErrorCode } from "@berth/core";
import { statusOf } from "../errors.ts";
import type { Route } from "../rest/routes.ts";
import { headersOf } from "./headers.ts";

/** Name and description of each category of errors, and the codes that any operation may return. */
const RESPONSES = {
  bad_request: [
    "BadRequest",
    "The request cannot be parsed, or is not allowed in the current state.",
    ["request.malformed"],
  ],
  unauthenticated: ["Unauthenticated", "No token, or one that is unknown or expired.", ["auth.unauthenticated"]],
  forbidden: [
    "Forbidden",
    "The token lacks the ability, or the API is switched off.",
    ["auth.missing_ability", "auth.missing_role", "auth.api_disabled"],
  ],
  not_found: ["NotFound", "No such object exists in the token's team.", ["resource.not_found"]],
  method_not_allowed: ["MethodNotAllowed", "The path is served with the methods in `Allow`.", []],
  conflict: ["Conflict", "The request conflicts with another object.", []],
  precondition_failed: ["PreconditionFailed", "The object has changed since it was read.", []],
  too_large: ["TooLarge", "The body is too large.", ["request.too_large"]],
  unsupported_media_type: [
    "UnsupportedMediaType",
    "The body's type is not one of the documented ones.",
    ["request.unsupported_media_type"],
  ],
  invalid: ["Invalid", "A field is missing, unknown or wrong.", ["request.invalid"]],
  too_many: ["TooMany", "Too many requests, or a full queue.", ["rate.limited"]],
  unavailable: ["Unavailable", "A required system cannot be reached at the moment.", ["database.unavailable"]],
  internal: ["Internal", "An error of the server; its log contains the `request_id`.", ["internal.error"]],
} as const satisfies Record<ErrorCategory, readonly [name: string, description: string, usual: readonly ErrorCode[]]>;

export const responses = Object.fromEntries(
  // The type of `Object.entries` is wider.
  (Object.entries(RESPONSES) as [ErrorCategory, readonly [string, string, readonly ErrorCode[]]][]).map(
    ([category, [name, description, usual]]) => [
      name,
      {
        description: `${description} ${codesText(usual)}`.trim(),
        headers: {
          ...headersOf("X-Request-Id"),
          ...(category === "too_many" ? headersOf("Retry-After", "X-RateLimit-Reset") : {}),
        },
        content: {
          "application/json": {
            schema: { $ref: `#/components/schemas/${category === "invalid" ? "ValidationError" : "Error"}` },
          },
        },
      },
    ],
  ),
);

/** A route's errors by status, with its possible codes. */
export function problemsOf(route: Route): Record<string, unknown> {
  const byCategory = new Map<ErrorCategory, Set<ErrorCode>>();
  for (const code of codesOf(route)) {
    const category = ERRORS[code];
    byCategory.set(category, (byCategory.get(category) ?? new Set()).add(code));
  }
  return Object.fromEntries(
    [...byCategory].map(([category, codes]) => [statusOf(category), referenceTo(category, [...codes])]),
  );
}

/** Adds a description to the reference, if codes are possible that the shared one does not list. */
function referenceTo(category: ErrorCategory, codes: readonly ErrorCode[]): unknown {
  const [name, description, usual] = RESPONSES[category];
  const isUsual = codes.every((code) => (usual as readonly ErrorCode[]).includes(code));
  return {
    $ref: `#/components/responses/${name}`,
    ...(isUsual ? {} : { description: `${description} ${codesText(codes)}` }),
  };
}

function codesText(codes: readonly ErrorCode[]): string {
  return codes.length > 0 ? `${codes.map((code) => `\`${code}\``).join(", ")}.` : "";
}

function codesOf({ operation, method, pathKeys, body }: Route): ErrorCode[] {
  const { ability, extras = [], rootTeamOnly, errors = [], isUncounted, evenWhenDisabled } = operation.options;
  const isOperators = rootTeamOnly !== undefined || extras.some(({ needs }) => needs === "operator");
  return [
    // A body is validated even if the operation needs none.
    ...(method === "GET" ? [] : (["request.malformed", "request.too_large"] as const)),
    ...(body === "upload" ? (["request.unsupported_media_type"] as const) : []),
    ...(ability === null ? [] : (["auth.unauthenticated", "auth.missing_ability"] as const)),
    ...(ability === null || evenWhenDisabled ? [] : (["auth.api_disabled"] as const)),
    ...(isOperators ? (["auth.root_team_only"] as const) : []),
    ...(pathKeys.length > 0 ? (["resource.not_found"] as const) : []),
    "request.invalid",
    ...(isUncounted ? [] : (["rate.limited"] as const)),
    ...errors,
    "internal.error",
    ...(ability === null ? [] : (["database.unavailable"] as const)),
  ];
}

const problem = {
  message: { type: "string", description: "What happened and what to do next, for people." },
  code: { type: "string", description: "For programs; it does not change.", examples: ["domain.conflict"] },
  request_id: { type: "string", description: "Also in the server's log." },
} as const;

export const schemas = {
  Error: {
    type: "object",
    description: "What every error answers. Some have further keys.",
    properties: problem,
    required: ["message", "code", "request_id"],
  },
  ValidationError: {
    type: "object",
    description: "What is wrong with which field.",
    properties: {
      ...problem,
      errors: {
        type: "object",
        description: "By field, dotted for nested ones, `_` for the whole body.",
        additionalProperties: { type: "array", items: { type: "string" } },
        examples: [{ name: ["This field is required."] }],
      },
      read_only_fields: {
        type: "array",
        description: "For a storage that its compose file manages: the fields of the request that cannot be changed.",
        items: { type: "string" },
      },
    },
    required: ["message", "code", "request_id", "errors"],
  },
};
