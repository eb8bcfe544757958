/** Categories of errors. `packages/api` maps them to HTTP status codes. */
export type ErrorCategory =
  | "bad_request"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "precondition_failed"
  | "too_large"
  | "unsupported_media_type"
  | "invalid"
  | "too_many"
  | "unavailable"
  | "internal";

/** Every error code of Berth. Codes are stable, since clients branch on them. */
export const ERRORS = {
  "request.malformed": "bad_request",
  "request.invalid": "invalid",
  "request.not_found": "not_found",
  "request.method_not_allowed": "method_not_allowed",
  "request.too_large": "too_large",
  "request.overloaded": "unavailable",
  "answer.too_large": "too_large",
  "request.unsupported_media_type": "unsupported_media_type",
  "auth.unauthenticated": "unauthenticated",
  "auth.missing_ability": "forbidden",
  "auth.missing_role": "forbidden",
  "auth.api_disabled": "forbidden",
  "auth.root_team_only": "forbidden",
  "auth.sign_in_failed": "bad_request",
  "auth.second_factor_required": "forbidden",
  "auth.second_factor_failed": "bad_request",
  "auth.second_factor_missing": "forbidden",
  "auth.passkey_failed": "bad_request",
  "auth.provider_failed": "bad_request",
  "auth.provider_expired": "bad_request",
  "auth.sign_up_refused": "forbidden",
  "auth.link_invalid": "bad_request",
  "auth.session_required": "bad_request",
  "auth.confirmation_required": "forbidden",
  "auth.foreign_page": "forbidden",
  "resource.not_found": "not_found",
  "resource.already_exists": "conflict",
  "resource.in_use": "bad_request",
  "resource.already_running": "bad_request",
  "resource.already_stopped": "bad_request",
  "resource.not_running": "bad_request",
  "resource.state": "bad_request",
  "private_key.in_use": "invalid",
  "domain.conflict": "conflict",
  "port.taken": "bad_request",
  "destination.ambiguous": "bad_request",
  "destination.missing": "bad_request",
  "destination.in_use": "conflict",
  "destination.refused": "invalid",
  "queue.full": "too_many",
  "rate.limited": "too_many",
  "deployment.not_cancellable": "bad_request",
  "backup.not_cancellable": "bad_request",
  "engine.unsupported": "invalid",
  "engine.unreachable": "unavailable",
  "engine.failed": "internal",
  "cluster.no_leader": "unavailable",
  "server.unreachable": "unavailable",
  "source.not_found": "invalid",
  "source.unauthorized": "invalid",
  "source.unreachable": "unavailable",
  "source.invalid": "invalid",
  "git_host.refused": "bad_request",
  "git_host.not_found": "not_found",
  "git_host.failed": "bad_request",
  "github_app.in_use": "conflict",
  "webhook.unsigned": "unauthenticated",
  "deploy.cancelled": "conflict",
  "deploy.build_failed": "invalid",
  "deploy.unrecognised": "invalid",
  "deploy.start_failed": "invalid",
  "deploy.unhealthy": "invalid",
  "deploy.command_failed": "invalid",
  "deploy.interrupted": "unavailable",
  "deploy.timeout": "unavailable",
  "cloud.refused": "bad_request",
  "cloud.rate_limited": "too_many",
  "cloud.failed": "internal",
  "notification.refused": "invalid",
  "notification.unreachable": "unavailable",
  "database.unavailable": "unavailable",
  "storage.full": "unavailable",
  "setup.failed": "unavailable",
  "internal.error": "internal",
} as const satisfies Record<`${string}.${string}`, ErrorCategory>;

export type ErrorCode = keyof typeof ERRORS;

/** Problems by field name (dotted for nested fields, `_` for the whole body), each a sentence. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

export interface DomainErrorOptions {
  readonly cause?: unknown;
  /** For `request.invalid`: the problems by field. */
  readonly fields?: FieldErrors;
  /** For `queue.full`, `rate.limited` and `cloud.rate_limited`: when to try again, in seconds. */
  readonly retryAfterSeconds?: number;
  /** Additional keys of the answer's body, e.g. `conflicts` of a domain conflict. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The only class of errors. Foreign errors are wrapped in it at the edges `engine` and `db`, as `cause`. */
export class DomainError extends Error {
  override readonly name = "DomainError";
  readonly code: ErrorCode;
  readonly fields: FieldErrors | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  /** @param message Shown to the caller, says what to do next. Secrets and host details go in `cause`. */
  constructor(code: ErrorCode, message: string, options: DomainErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.fields = options.fields;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.details = options.details;
  }

  get category(): ErrorCategory {
    return ERRORS[this.code];
  }
}

/** @param thing Capitalised: `Application`. Objects of other teams get the same answer as unknown ones. */
export const notFound = (thing: string) => new DomainError("resource.not_found", `${thing} not found.`);

/** The problem of a field that an operation does not know. */
export const NOT_ALLOWED = "This field is not allowed.";

export const invalid = (fields: FieldErrors) => new DomainError("request.invalid", "Validation failed.", { fields });

export function isDomainError(error: unknown, ...codes: readonly ErrorCode[]): error is DomainError {
  return error instanceof DomainError && (codes.length === 0 || codes.includes(error.code));
}

/** A server, its engine or its cluster does not answer for now: the call may be repeated. */
export const isServerAway = (error: unknown): error is DomainError =>
  isDomainError(error, "server.unreachable", "engine.unreachable", "cluster.no_leader");

/** Berth's own database cannot serve a request for now: the work is retried, and nothing is decided from it. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  isDomainError(error, "database.unavailable") || isDomainError(error, "storage.full");
