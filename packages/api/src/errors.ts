import { DomainError, type ErrorCategory, type ErrorCode, invalid } from "@berth/core";
import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { ZodError } from "zod";
import { boundedErrors, fieldErrors } from "./field-errors.ts";
import type { ProblemBody } from "./problem-body.ts";

/** The only place that maps categories of errors to tRPC's codes; REST derives its status from them. */
export const TRPC_CODE = {
  bad_request: "BAD_REQUEST",
  unauthenticated: "UNAUTHORIZED",
  forbidden: "FORBIDDEN",
  not_found: "NOT_FOUND",
  method_not_allowed: "METHOD_NOT_SUPPORTED",
  conflict: "CONFLICT",
  precondition_failed: "PRECONDITION_FAILED",
  too_large: "PAYLOAD_TOO_LARGE",
  unsupported_media_type: "UNSUPPORTED_MEDIA_TYPE",
  invalid: "UNPROCESSABLE_CONTENT",
  too_many: "TOO_MANY_REQUESTS",
  unavailable: "SERVICE_UNAVAILABLE",
  internal: "INTERNAL_SERVER_ERROR",
} as const satisfies Record<ErrorCategory, TRPCError["code"]>;

export interface Problem {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ProblemBody;
}

/** The public part of an error: never a stack trace, a query or a cause. */
export function problemOf(thrown: unknown, requestId: string): Problem {
  const error = asDomainError(thrown);
  const { retryAfterSeconds } = error;
  return {
    status: statusOf(error.category),
    headers:
      retryAfterSeconds === undefined ? {} : { "retry-after": String(Math.max(0, Math.ceil(retryAfterSeconds))) },
    body: {
      ...error.details,
      message: error.message,
      code: error.code,
      request_id: requestId,
      ...(error.fields && { errors: boundedErrors(error.fields) }),
      // All of these have the same form: a problem of no particular field is listed too, as `_`. Clients of the API
      // family print the message alone, so a sentence that says more than the contract's stays.
      ...(error.category === "invalid" && {
        message: SAID_BY_MESSAGE.has(error.code) ? error.message : "Validation failed.",
        errors: boundedErrors(error.fields ?? { _: [error.message] }),
      }),
    },
  };
}

const SAID_BY_MESSAGE: ReadonlySet<string> = new Set([
  "private_key.in_use",
  "destination.refused",
  "engine.unsupported",
  "notification.refused",
]);

export const statusOf = (category: ErrorCategory): number =>
  getHTTPStatusCodeFromError(new TRPCError({ code: TRPC_CODE[category] }));

/**
 * The domain error for anything thrown: by a use case, by tRPC, by a schema.
 *
 * @param input The parsed input, to distinguish missing from invalid fields.
 */
export function asDomainError(thrown: unknown, input?: unknown): DomainError {
  if (thrown instanceof DomainError) return thrown;
  if (thrown instanceof TRPCError) {
    const { cause } = thrown;
    if (cause instanceof DomainError) return cause;
    // tRPC has this code only for what `.input()` refused; a ZodError from elsewhere is an error of the server.
    if (cause instanceof ZodError && thrown.code === "BAD_REQUEST") return invalid(fieldErrors(cause, input));
    const refused = TRPC_REFUSALS[thrown.code];
    if (refused) return new DomainError(refused[0], refused[1], { cause: thrown });
  }
  return new DomainError("internal.error", "Server Error", { cause: thrown });
}

/** @see asDomainError for `input` */
export function asTrpcError(thrown: unknown, input?: unknown): TRPCError {
  const error = asDomainError(thrown, input);
  return new TRPCError({ code: TRPC_CODE[error.category], message: error.message, cause: error });
}

/** Errors of tRPC itself under `/trpc`, before a procedure runs. */
const TRPC_REFUSALS: Partial<Record<TRPCError["code"], readonly [ErrorCode, string]>> = {
  PARSE_ERROR: ["request.malformed", "Invalid request."],
  BAD_REQUEST: ["request.malformed", "Invalid request."],
  NOT_FOUND: ["request.not_found", "Not found."],
  METHOD_NOT_SUPPORTED: ["request.method_not_allowed", "Use GET for queries and POST for mutations."],
  PAYLOAD_TOO_LARGE: ["request.too_large", "The request is too large. Send less in one request."],
  UNSUPPORTED_MEDIA_TYPE: ["request.unsupported_media_type", "Content-Type must be application/json."],
};
