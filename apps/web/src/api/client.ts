import type { AppRouter, ProblemBody } from "@berth/api";
import { QueryClient } from "@tanstack/react-query";
import { createTRPCClient, createWSClient, httpBatchLink, splitLink, TRPCClientError, wsLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { sentenceOf } from "./sentence.ts";
import { sessionHeaders, sessionParams } from "./session.ts";

export type Outputs = inferRouterOutputs<AppRouter>;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // A refused request would be refused again; only an unreachable server is retried.
      retry: (failures, error) => failures < 2 && statusOf(error) >= 500,
      refetchOnWindowFocus: false,
    },
  },
});

/** Shared by all streams of the tab: browsers limit connections to an address to six. */
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

/** The server's error with its fields and request id; `undefined` without an answer. */
export function problemOf(error: unknown): ProblemBody | undefined {
  // tRPC errors in this client always come from `AppRouter`.
  return error instanceof TRPCClientError ? (error as TRPCClientError<AppRouter>).data?.problem : undefined;
}

/** HTTP status of an error; 503 without an answer. */
export function statusOf(error: unknown): number {
  if (!(error instanceof TRPCClientError)) return 400; // An error in the page itself.
  return (error as TRPCClientError<AppRouter>).data?.httpStatus ?? 503;
}

const problemSentence = (error: unknown): string | undefined => {
  const problem = problemOf(error);
  return problem && sentenceOf(problem);
};

export const messageOf = (error: unknown): string =>
  problemSentence(error) ??
  (error instanceof TRPCClientError
    ? "Berth does not answer. Check that it runs and that the network reaches it."
    : error instanceof Error
      ? error.message
      : String(error));
