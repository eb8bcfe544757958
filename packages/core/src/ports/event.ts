import type { EventRecord } from "./records.ts";

export interface EventStore {
  /** Written in the transaction of the change it reports. */
  append(event: {
    readonly type: string;
    readonly resource_uuid: string | null;
    readonly payload: Readonly<Record<string, unknown>>;
  }): Promise<void>;
  /** Sorted by id. */
  list(query: EventQuery & { readonly newestFirst?: boolean }): Promise<readonly EventRecord[]>;
  /** Id of the newest event; 0 without any. */
  last(): Promise<number>;
  /**
   * Resolves when an event was written since the first read after the last wait, when `signal` fires, or after a
   * while.
   */
  changed(signal: AbortSignal): Promise<void>;
}

export interface EventQuery {
  readonly after?: number | undefined;
  readonly before?: number | undefined;
  /** A type, or a prefix if it ends with a dot. */
  readonly type?: string | undefined;
  /** Identifier of the events' subject. */
  readonly resource?: string | undefined;
  readonly take?: number | undefined;
}

export interface SystemEventStore {
  /** Deletes a limited number of events older than this. Returns their number. */
  prune(keptDays: number): Promise<number>;
}
