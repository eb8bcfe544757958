import { type DehydratedState, dehydrate, hydrate, type QueryClient } from "@tanstack/react-query";
import { sessionKey } from "./session.ts";

/**
 * What a page showed when it ended, for a reload of its tab. The events since `position` tell what has changed, so
 * nothing else is requested again.
 */
export interface KeptPage {
  readonly team: number;
  /** Id of the last event that `state` includes. */
  readonly position: string;
  readonly state: DehydratedState;
}

interface Stored extends KeptPage {
  readonly session: string;
  /** Another build may read other fields. */
  readonly build: string;
  readonly savedAtMs: number;
}

const KEY = "berth.kept-page";
/** The file's name contains a hash of the build. */
const BUILD = import.meta.url;
/** A little of what is shown emits no events, such as the time of a resource's last change. */
const KEPT_MINUTES_MAX = 10;
/** Queries of the overview. None of them contains secrets, and each change of what they contain emits an event. */
const KEPT: ReadonlySet<string> = new Set(["resources.summaries", "servers.list", "projects.list", "deployments.list"]);

/** Reads and removes what this tab kept; `undefined` for another session or build, or if it is too old. */
export function takeKeptPage(nowMs: number): KeptPage | undefined {
  const text = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (text === null) return undefined;
  // Only `keepPage` writes it.
  const { session, build, savedAtMs, ...page } = JSON.parse(text) as Stored;
  const isOld = nowMs - savedAtMs > KEPT_MINUTES_MAX * 60_000 || nowMs < savedAtMs;
  return session !== sessionKey() || build !== BUILD || isOld ? undefined : page;
}

/** Keeps what is up to date. Storage that is full keeps nothing. */
export function keepPage(queries: QueryClient, { team, position }: Omit<KeptPage, "state">, nowMs: number): void {
  const session = sessionKey();
  if (session === null) return;
  const state = dehydrate(queries, {
    shouldDehydrateMutation: () => false,
    shouldDehydrateQuery: ({ queryKey: [path], state: { status, isInvalidated } }) =>
      status === "success" && !isInvalidated && Array.isArray(path) && KEPT.has(path.join(".")),
  });
  if (state.queries.length === 0) return;
  const stored: Stored = { team, position, state, session, build: BUILD, savedAtMs: nowMs };
  try {
    sessionStorage.setItem(KEY, JSON.stringify(stored));
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

/** Shows what was kept as if it had just been read. */
export function restorePage(queries: QueryClient, { state }: KeptPage, nowMs: number): void {
  hydrate(queries, {
    ...state,
    queries: state.queries.map((query) => ({ ...query, state: { ...query.state, dataUpdatedAt: nowMs } })),
  });
}
