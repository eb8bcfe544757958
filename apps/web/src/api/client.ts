import type { AppRouter, ProblemBody } from "@berth/api";
import { QueryClient } from "@tanstack/react-query";
import { createTRPCClient, createWSClient, httpBatchLink, splitLink, TRPCClientError, wsLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { sessionHeaders, sessionParams } from "./session.ts";

export type Outputs = inferRouterOutputs<AppRouter>;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // What the server refuses it refuses again; only a server that cannot be reached is asked once more.
      retry: (failures, error) => failures < 2 && statusOf(error) >= 500,
      refetchOnWindowFocus: false,
    },
  },
});

/** One for all streams of the tab: a browser opens six connections to an address, and each stream would take one. */
const socket = createWSClient({
  url: "/trpc",
  connectionParams: sessionParams,
  lazy: { enabled: true, closeMs: 10_000 },
  keepAlive: { enabled: true },
});

export const client = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: wsLink({ client: socket }),
      false: httpBatchLink({ url: "/trpc", headers: sessionHeaders, maxItems: 20, maxURLLength: 6000 }),
    }),
  ],
});

export const trpc = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

/** The server's error with its fields and request id; `undefined` when no server answered. */
export function problemOf(error: unknown): ProblemBody | undefined {
  // Errors of this client come from `AppRouter` only.
  return error instanceof TRPCClientError ? (error as TRPCClientError<AppRouter>).data?.problem : undefined;
}

/** HTTP status of an error; 503 when no server answered. */
export function statusOf(error: unknown): number {
  if (!(error instanceof TRPCClientError)) return 400; // A fault of the page.
  return (error as TRPCClientError<AppRouter>).data?.httpStatus ?? 503;
}

export const messageOf = (error: unknown): string =>
  problemOf(error)?.message ??
  (error instanceof TRPCClientError
    ? "Berth does not answer. Check that it runs and that the network reaches it."
    : error instanceof Error
      ? error.message
      : String(error));
