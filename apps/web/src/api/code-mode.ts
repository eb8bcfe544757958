import { useSyncExternalStore } from "react";

let isOn = false;
const listeners = new Set<() => void>();

export const NOT_SENT = "Nothing was sent, because buttons show their code. Press Back to doing first.";

export const isCodeMode = (): boolean => isOn;

/** Whether buttons show the code of what they do, instead of doing it. */
export const useCodeMode = (): boolean =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => isOn,
  );

export function setCodeMode(next: boolean): void {
  isOn = next;
  for (const listener of listeners) listener();
}
