import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { client, eventPosition, queryClient } from "./client.ts";
import { keepPage } from "./kept.ts";

export type Connection = "connecting" | "live" | "lost";
let connection: Connection = "connecting";
const listeners = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener();
}

/** Whether the page receives live updates. */
export const useConnection = (): Connection =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => connection,
  );

const START_MS = 300;
/**
 * Resolves when the page has had time to draw. The streams that a page begins with wait for it: so they do not compete
 * with drawing, and share one message to the server, which then looks up their session once.
 */
export const pageStarted: Promise<void> = new Promise((resolve) => setTimeout(resolve, START_MS));

/** Events come in bursts, which one refresh covers. */
const REFRESH_DELAY_MS = 150;
const RETRY_DELAY_MS = 2000;

/** The only part of the API that such an event is about; `undefined` for others. They come often. */
const partOf = (type: string): string | undefined =>
  type.startsWith("notification.") ? "notifications" : type === "job.progressed" ? "jobs" : undefined;

/**
 * Keeps the page up to date: each event of the team refreshes the open queries. After a lost connection they are
 * refreshed too: where events cannot be read, there is none to resume behind.
 * @param team A change of team opens another stream.
 */
export function useLiveUpdates(team: number | undefined): void {
  useEffect(() => {
    if (team === undefined) return;
    let refresh: ReturnType<typeof setTimeout> | undefined;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let last: string | undefined;
    let isBehind = false;
    let isOver = false;
    let stop = () => {};
    /** Parts of the API whose queries are refreshed next; all of them with `undefined`. */
    let parts: ReadonlySet<string> | undefined = new Set();
    const refreshSoon = (type?: string) => {
      const own = type === undefined ? undefined : partOf(type);
      parts = own === undefined ? undefined : parts && new Set([...parts, own, "events"]);
      refresh ??= setTimeout(() => {
        const only = parts;
        refresh = undefined;
        parts = new Set();
        void queryClient.invalidateQueries({
          predicate: ({ queryKey: [path] }) =>
            path !== "description" && (only === undefined || (Array.isArray(path) && only.has(path[0]))),
        });
      }, REFRESH_DELAY_MS);
    };
    const lose = () => {
      isBehind = true;
      setConnection("lost");
    };
    const again = () => {
      lose();
      retry = setTimeout(follow, RETRY_DELAY_MS);
    };
    const follow = () => {
      const subscription = client.events.follow.subscribe(last === undefined ? {} : { lastEventId: last }, {
        onConnectionStateChange: ({ state, error }) => {
          if (state === "pending") setConnection("live");
          else if (state === "connecting" && error === null) setConnection("connecting");
          else if (state === "connecting") lose();
        },
        // Only now no event is missed any more.
        onStarted: () => {
          if (isBehind) refreshSoon();
          isBehind = false;
          setConnection("live");
        },
        onData: ({ id, data: { type } }) => {
          last = id;
          setConnection("live");
          refreshSoon(type);
        },
        onError: again,
        onComplete: again,
      });
      stop = () => subscription.unsubscribe();
    };
    // A refresh that is due would be lost with the page.
    const keep = () => {
      if (connection === "live" && !isBehind && refresh === undefined && last !== undefined)
        keepPage(queryClient, { team, position: last }, Date.now());
    };
    setConnection("connecting");
    void Promise.all([eventPosition(), pageStarted]).then(([position]) => {
      if (isOver) return;
      last = position;
      follow();
    });
    window.addEventListener("pagehide", keep);
    return () => {
      isOver = true;
      window.removeEventListener("pagehide", keep);
      clearTimeout(refresh);
      clearTimeout(retry);
      stop();
    };
  }, [team]);
}

interface Handlers<Data> {
  readonly onData: (data: Data) => void;
  readonly onError: (error: unknown) => void;
  readonly onComplete: () => void;
  readonly onStarted?: () => void;
}
export type Subscribe<Data> = (handlers: Handlers<Data>) => { unsubscribe: () => void };
type StreamState = "connecting" | "open" | "ended" | { readonly error: unknown };

/**
 * Follows a stream while the component is mounted. tRPC's own hook does not report the end of a stream.
 * @param key A changed key opens another stream.
 */
export function useStream<Data>(key: string, subscribe: Subscribe<Data>, onData: (data: Data) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef({ subscribe, onData });
  latest.current = { subscribe, onData };
  // `key` represents all dependencies of the stream.
  useEffect(() => {
    setState("connecting");
    const subscription = latest.current.subscribe({
      onStarted: () => setState("open"),
      onData: (data) => latest.current.onData(data),
      onError: (error) => setState({ error }),
      onComplete: () => setState("ended"),
    });
    return () => subscription.unsubscribe();
  }, [key]);
  return state;
}
