import { useRef, useSyncExternalStore } from "react";

export interface LogEntry {
  readonly text: string;
  readonly at?: string;
  readonly step?: string | null;
  readonly isError?: boolean;
}

/** A growing list of lines. The viewer is notified once per frame. */
export class Lines {
  readonly all: LogEntry[] = [];
  /** Whether the time of any line is known. */
  hasTimes = false;
  /** Number of old lines that are no longer in `all`. */
  dropped = 0;
  #version = 0;
  #isScheduled = false;
  readonly #listeners = new Set<() => void>();

  push(...entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      this.all.push(entry);
      this.hasTimes ||= entry.at !== undefined;
    }
    // Old lines are dropped to save memory.
    if (this.all.length > LINES_MAX * 1.1) {
      this.dropped += this.all.length - LINES_MAX;
      this.all.splice(0, this.all.length - LINES_MAX);
    }
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    requestAnimationFrame(() => {
      this.#isScheduled = false;
      this.#version += 1;
      for (const listener of this.#listeners) listener();
    });
  }

  readonly version = (): number => this.#version;
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };
}

const LINES_MAX = 200_000;

/** @param key A changed key starts a new list. */
export function useLines(key: string): Lines {
  const held = useRef<{ key: string; lines: Lines }>(undefined);
  if (held.current?.key !== key) held.current = { key, lines: new Lines() };
  return held.current.lines;
}

export const useVersion = (lines: Lines): number => useSyncExternalStore(lines.subscribe, lines.version);
