import type { AppRouter, ProblemBody } from "@berth/api";
import { QueryClient } from "@tanstack/react-query";
import {
  createTRPCClient,
  createWSClient,
  httpBatchLink,
  httpLink,
  splitLink,
  TRPCClientError,
  wsLink,
} from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { NOT_SENT } from "./code-mode.ts";
import { type KeptPage, restorePage, takeKeptPage } from "./kept.ts";
import { recordingLink } from "./recording.ts";
import { RestError } from "./rest.ts";
import { sentenceOf } from "./sentence.ts";
import { isSignedIn, sessionHeaders, sessionParams } from "./session.ts";

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
    recordingLink,
    splitLink({
      condition: ({ type }) => type === "subscription",
      true: wsLink({ client: socket }),
      false: splitLink({
        condition: ({ context }) => context.isFirst === true,
        true: httpLink({ url: "/trpc", headers: sessionHeaders }),
        false: httpBatchLink({
          url: "/trpc",
          async headers() {
            if (isSignedIn()) await eventPosition();
            return sessionHeaders();
          },
          maxItems: 20,
          maxURLLength: 6000,
        }),
      }),
    }),
  ],
});

let taken: { readonly page: KeptPage | undefined } | undefined;
/** What the tab kept over a reload. It is read once, since reading removes it. */
const keptPage = (): KeptPage | undefined => {
  taken ??= { page: takeKeptPage(Date.now()) };
  return taken.page;
};

let position: Promise<string | undefined> | undefined;

/**
 * Id of an event from which on events have to be followed, so that no change of what the page reads is missed: it is
 * known before anything is read. `undefined`: from now on, where events cannot be read.
 */
export function eventPosition(): Promise<string | undefined> {
  const kept = keptPage();
  position ??= kept === undefined ? newestEvent() : Promise.resolve(kept.position);
  return position;
}

const newestEvent = (): Promise<string | undefined> =>
  client.events.list.query({ take: 1 }, { context: { isFirst: true } }).then(
    ({ events: [newest] }) => String(newest?.id ?? 0),
    () => undefined,
  );

let restored: Promise<void> | undefined;

/** Shows what the tab kept over a reload, once the server has confirmed that session and team are the same. */
export function restoreKept(): Promise<void> {
  const kept = keptPage();
  restored ??= kept === undefined ? Promise.resolve() : confirmKept(kept);
  return restored;
}

async function confirmKept(page: KeptPage): Promise<void> {
  const current = await queryClient.fetchQuery(trpc.auth.current.queryOptions()).catch(() => undefined);
  if (current?.team.id === page.team) return restorePage(queryClient, page, Date.now());
  position = newestEvent();
}

export const trpc = createTRPCOptionsProxy<AppRouter>({ client, queryClient });

/** The server's error with its fields and request id; `undefined` without an answer. */
export function problemOf(error: unknown): ProblemBody | undefined {
  if (error instanceof RestError) return error.problem;
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
  (error instanceof TRPCClientError && error.message !== NOT_SENT
    ? "Berth does not answer. Check that it runs and that the network reaches it."
    : error instanceof Error
      ? error.message
      : String(error));
