import type { Readable } from "node:stream";
import { problemError } from "./problem.ts";
import type { Connection } from "./resolve.ts";

export interface RestRequest {
  readonly method: string;
  /** Path below `/api/v1`, e.g. `/applications`. */
  readonly path: string;
  readonly query?: URLSearchParams;
  readonly body?: string | Readable;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** Sends one request to the REST API and returns any answer. */
export function rest({ url, token }: Connection, request: RestRequest): Promise<Response> {
  const { method, path, query, body, contentType, signal } = request;
  const suffix = query && query.size > 0 ? `?${query}` : "";
  return fetch(`${url}/api/v1${path}${suffix}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: "application/json",
      ...(contentType === undefined ? {} : { "content-type": contentType }),
    },
    ...(body === undefined ? {} : { body, duplex: "half" }),
    ...(signal ? { signal } : {}),
    // Following a redirect would send the token to another address.
    redirect: "manual",
  });
}

/**
 * Text of a successful answer.
 * @throws ProblemError
 */
export async function restText(connection: Connection, request: RestRequest): Promise<string> {
  const response = await rest(connection, request);
  const text = await response.text();
  if (response.ok) return text;
  throw problemError(response.status, text);
}
