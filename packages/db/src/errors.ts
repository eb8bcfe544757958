import { DomainError, isDomainError } from "@berth/core";

/** The transaction is retried a few times, since another attempt usually succeeds. */
const SERIALIZATION_FAILURE = "40001";
const DEADLOCK = "40P01";
/** A commit whose answer was lost with its connection: see `commitLost`. */
const NOT_COMMITTED = "40000";
const COMMIT_UNKNOWN = "08007";

const UNAVAILABLE_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT", // the unix socket does not exist
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "57014", // statement timeout
  "55P03", // lock timeout
  SERIALIZATION_FAILURE,
  DEADLOCK,
  NOT_COMMITTED,
]);
/** Connection exceptions, insufficient resources, operator intervention, system errors, wrong password or database. */
const UNAVAILABLE_CLASSES = ["08", "53", "57", "58", "28", "3D"];
const DISK_FULL_CODES = new Set(["53100", "ENOSPC", "EDQUOT"]);
const DISK_FULL = "The disk of Berth's database is full, so nothing was written. Free space on it, then try again.";
const NO_ANSWER = "The database does not answer. Try again in a moment.";
export const READ_ONLY = "The database is read-only. Check whether it is a standby, then try again.";
/** By SQLSTATE. */
const UNAVAILABLE_REASONS: Readonly<Record<string, string>> = {
  [COMMIT_UNKNOWN]:
    "The connection to the database was lost while it saved a change, and whether it did is unknown. Look at the result before you try again.",
  "25006": READ_ONLY,
  "28000": "The database refuses Berth's login. Check the user in BERTH_DATABASE_URL.",
  "28P01": "The database refuses Berth's password. Check BERTH_DATABASE_URL.",
  "3D000": "Berth's database does not exist any more on its server. Check BERTH_DATABASE_URL.",
  "53300": "The database has no connection left. Raise its max_connections, or close other clients.",
  "57P01": "The database is being stopped. Try again in a moment.",
  "57P02": "The database restarts after a failure. Try again in a moment.",
  "57P03": "The database is starting or recovering. Try again in a moment.",
};
// The driver has no code for these errors.
const UNAVAILABLE_MESSAGES =
  /connection (terminated|timeout|error|ended)|timeout exceeded when trying to connect|pool after calling end|not queryable|driver has already been destroyed|PGlite is clos/i;

/** SQLSTATE or the system's error code, also of a wrapped error. */
export function databaseErrorCode(error: unknown): string | undefined {
  const original = isDomainError(error) ? error.cause : error;
  if (typeof original !== "object" || original === null || !("code" in original)) return undefined;
  return typeof original.code === "string" ? original.code : undefined;
}

/** Whether the error means that this unique constraint or index already has the value. */
export function violates(error: unknown, constraint: string): boolean {
  if (databaseErrorCode(error) !== "23505") return false;
  const original = isDomainError(error) ? error.cause : error;
  return (
    typeof original === "object" && original !== null && "constraint" in original && original.constraint === constraint
  );
}

export const isForeignKeyViolation = (error: unknown): boolean => databaseErrorCode(error) === "23503";

export const mayBeRetried = (error: unknown): boolean => {
  const code = databaseErrorCode(error);
  return code === SERIALIZATION_FAILURE || code === DEADLOCK || code === NOT_COMMITTED;
};

/** @param cause The driver's error when the connection broke. */
export const commitLost = (outcome: "not committed" | "unknown", cause: unknown): Error =>
  Object.assign(new Error(`The connection was lost during COMMIT: ${outcome}`, { cause }), {
    code: outcome === "unknown" ? COMMIT_UNKNOWN : NOT_COMMITTED,
  });

/** Wraps an error of the driver. Its message may contain hosts, columns and values, so it is only kept in `cause`. */
export function wrapDatabaseError(error: unknown): DomainError {
  if (isDomainError(error)) return error;
  const code = databaseErrorCode(error) ?? "";
  const message = error instanceof Error ? error.message : "";
  if (DISK_FULL_CODES.has(code)) return new DomainError("storage.full", DISK_FULL, { cause: error });
  if (
    UNAVAILABLE_CODES.has(code) ||
    (code.length === 5 && (code in UNAVAILABLE_REASONS || UNAVAILABLE_CLASSES.includes(code.slice(0, 2)))) ||
    UNAVAILABLE_MESSAGES.test(message)
  ) {
    const sentence = UNAVAILABLE_REASONS[code] ?? NO_ANSWER;
    return new DomainError("database.unavailable", sentence, { cause: error, retryAfterSeconds: 1 });
  }
  if (code === "23505") return new DomainError("resource.already_exists", "It exists already.", { cause: error });
  if (code === "23503") {
    return /is not present/.test(detailOf(error))
      ? new DomainError("resource.not_found", "Its parent no longer exists.", { cause: error })
      : new DomainError("resource.in_use", "It is in use.", { cause: error });
  }
  // A NUL or a lone surrogate in a text, or a number outside of the column's range.
  if (["22021", "22P05", "22P02", "22003"].includes(code)) {
    return new DomainError("request.invalid", "Validation failed.", {
      cause: error,
      fields: { _: ["A value contains a character or number that cannot be stored."] },
    });
  }
  return new DomainError("internal.error", "The database refused a statement.", { cause: error });
}

const detailOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "detail" in error ? String(error.detail) : "";
