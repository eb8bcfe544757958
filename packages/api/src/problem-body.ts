import type { ErrorCode, FieldErrors } from "@berth/core";

/** The body of every answer that is an error. Details (`conflicts`, `success`, ...) stand beside these keys. */
export interface ProblemBody {
  readonly message: string;
  readonly code: ErrorCode;
  readonly request_id: string;
  readonly errors?: FieldErrors;
  readonly [detail: string]: unknown;
}
