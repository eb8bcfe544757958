import { DomainError } from "@berth/core";
import { TRPCError } from "@trpc/server";
import { malformed } from "./input.ts";

/** Maps errors of Fastify itself to domain errors; returns anything else unchanged. */
export function asRequestError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof DomainError || error instanceof TRPCError) return error;
  // Errors of Fastify have both fields; other errors have neither.
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  const known = typeof code === "string" ? REFUSALS[code] : undefined;
  if (known) return known();
  const isClientFault = typeof statusCode === "number" && statusCode >= 400 && statusCode < 500;
  return isClientFault ? malformed("The request could not be read.") : error;
}

/** Of a body that was not read, or not to its end. */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "FST_ERR_CTP_BODY_TOO_LARGE";

const REFUSALS: Readonly<Record<string, () => DomainError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () =>
    new DomainError("request.too_large", "The request is too large. Send less in one request."),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => malformed("Content-Type must be application/json."),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => malformed("Content-Length does not match the body."),
  FST_ERR_BAD_URL: () => malformed("The URL is not well-formed."),
  FST_ERR_ASYNC_CONSTRAINT: () => malformed("The URL is not well-formed."),
};
