import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { queryClient } from "./client.ts";

export type Connection = "connecting" | "live" | "lost";
let connection: Connection = "connecting";
const listeners = new Set<() => void>();

function setConnection(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener();
}

/** Whether what the page shows is kept up to date. */
export const useConnection = (): Connection =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => connection,
  );

/** Keeps all that is shown up to date while the page is open. */
export function useLiveUpdates(): void {
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") void queryClient.invalidateQueries();
      setConnection(navigator.onLine ? "live" : "lost");
    }, 4000);
    setConnection("live");
    return () => clearInterval(timer);
  }, []);
}

interface Handlers<Data> {
  readonly onData: (data: Data) => void;
  readonly onError: (error: unknown) => void;
  readonly onComplete: () => void;
  readonly onStarted?: () => void;
}
type Subscribe<Data> = (handlers: Handlers<Data>) => { unsubscribe: () => void };
type StreamState = "connecting" | "open" | "ended" | { readonly error: unknown };

/**
 * Follows a stream while the component is mounted. tRPC's own hook does not tell that a stream has ended.
 * @param key Another key is another stream.
 */
export function useStream<Data>(key: string, subscribe: Subscribe<Data>, onData: (data: Data) => void): StreamState {
  const [state, setState] = useState<StreamState>("connecting");
  const latest = useRef({ subscribe, onData });
  latest.current = { subscribe, onData };
  // The key stands for everything that the stream depends on.
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
