import { useSyncExternalStore } from "react";
import { age, duration } from "./units.ts";

/** One clock for all ages on the page, so that they change at the same time. */
let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const useNow = (): number => useSyncExternalStore(subscribe, () => now);
const FORMAT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

/** Age of a time; the tooltip shows it in the reader's time zone. */
export function Age({ at }: { readonly at: string | null | undefined }) {
  const current = useNow();
  if (at === null || at === undefined) return <span>–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={FORMAT.format(date)}>
      {age(date, new Date(Math.max(current, Date.now())))}
    </time>
  );
}

/** Duration between two times, or until now. */
export function Elapsed({ from, to }: { readonly from: string | null; readonly to: string | null }) {
  const current = useNow();
  if (from === null) return <span>–</span>;
  const end = to === null ? Math.max(current, Date.parse(from)) : Date.parse(to);
  return <span>{duration(end - Date.parse(from))}</span>;
}
