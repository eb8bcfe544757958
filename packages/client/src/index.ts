import type { AppRouter, ProblemBody } from "@berth/api";
import {
  createTRPCClient,
  httpBatchLink,
  httpSubscriptionLink,
  retryLink,
  splitLink,
  type TRPCClient,
  TRPCClientError,
} from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import { EventSource } from "eventsource";

export interface ClientOptions {
  /** Address of Berth, e.g. `http://localhost:8000`. */
  readonly url: string;
  /** `<id>|<secret>` */
  readonly token?: string | undefined;
  /**
   * Replaces the package `eventsource`. It must support the option `fetch`: a browser's own EventSource cannot send a
   * token.
   */
  readonly EventSource?: typeof EventSource;
}

export type Client = TRPCClient<AppRouter>;
/** Inputs and outputs of each operation, such as `Outputs["applications"]["get"]`. */
export type Inputs = inferRouterInputs<AppRouter>;
export type Outputs = inferRouterOutputs<AppRouter>;
export type { ProblemBody } from "@berth/api";

/**
 * A client for all operations, with their types. Calls made at the same moment share a request. Subscriptions
 * reconnect automatically and continue after the last received event.
 */
export function createClient({ url, token, EventSource: Events = EventSource }: ClientOptions): Client {
  const endpoint = `${url.replace(/\/+$/, "")}/trpc`;
  const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
  return createTRPCClient<AppRouter>({
    links: [
      splitLink({
        condition: ({ type }) => type === "subscription",
        true: [
          retryLink<AppRouter>({
            retry: ({ error }) => isPassing(error),
            retryDelayMs: (attempts) => Math.min(1000 * attempts, RETRY_DELAY_MS_MAX),
          }),
          httpSubscriptionLink({
            url: endpoint,
            EventSource: Events,
            eventSourceOptions: {
              fetch: (at, init) => fetch(at, { ...init, headers: { ...init.headers, ...headers } }),
            },
          }),
        ],
        false: httpBatchLink({ url: endpoint, headers, maxItems: CALLS_MAX, maxURLLength: URL_LENGTH_MAX }),
      }),
    ],
  });
}

/** The server's error: code, fields and request id; `undefined` without an answer. */
export function problemOf(error: unknown): ProblemBody | undefined {
  // Errors of this package come only from `AppRouter`.
  return error instanceof TRPCClientError ? (error as TRPCClientError<AppRouter>).data?.problem : undefined;
}

/** Whether a stream failed temporarily: an error of a gateway while the server restarts, or a rate limit. */
function isPassing(error: TRPCClientError<AppRouter>): boolean {
  if (error.data) return false;
  // An error of the event source has the status of the answer as its code.
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return typeof code === "number" && PASSING_STATUSES.includes(code);
}

const PASSING_STATUSES: readonly number[] = [408, 429, 500, 502, 503, 504];
const RETRY_DELAY_MS_MAX = 5000;
const CALLS_MAX = 20;
/** Well below the limits of servers and proxies. */
const URL_LENGTH_MAX = 6000;
