import pg from "pg";

/** @param payload The sent payload; `undefined` after a gap, in which any may have been missed. */
export type NotificationListener = (payload: string | undefined) => void;

/** Receives the `NOTIFY` of any process. */
export interface Notifier {
  /** Resolves when no later notification can be missed. Returns a function that removes the listener. */
  listen(channel: string, listener: NotificationListener): Promise<() => void>;
  close(): Promise<void>;
}

const RECONNECT_DELAY_MS = 100;
const RECONNECT_DELAY_MS_MAX = 5_000;

/** The listeners by channel. */
export function channels() {
  const listeners = new Map<string, Set<NotificationListener>>();
  return {
    names: () => [...listeners.keys()],
    /** Returns whether the channel is new. */
    add(channel: string, listener: NotificationListener): boolean {
      const existing = listeners.get(channel);
      if (existing === undefined) listeners.set(channel, new Set([listener]));
      else existing.add(listener);
      return existing === undefined;
    },
    remove: (channel: string, listener: NotificationListener) => void listeners.get(channel)?.delete(listener),
    emit(channel: string, payload: string | undefined): void {
      for (const listener of [...(listeners.get(channel) ?? [])]) listener(payload);
    },
    notifyOfGap(): void {
      for (const channel of listeners.keys()) this.emit(channel, undefined);
    },
  };
}

/**
 * One connection for the whole process, opened again whenever it is lost.
 *
 * @param onLost Runs before each attempt to reconnect: restarts an embedded server.
 */
export function postgresNotifier(config: pg.ClientConfig, onLost: () => Promise<void>): Notifier {
  const known = channels();
  let client: pg.Client | undefined;
  let connecting: Promise<void> | undefined;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const fresh = new pg.Client(config);
    fresh.on("error", () => lose(fresh));
    fresh.on("end", () => lose(fresh));
    fresh.on("notification", ({ channel, payload }) => known.emit(channel, payload ?? ""));
    try {
      await fresh.connect();
      for (const channel of known.names()) await fresh.query(`listen ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      fresh.end().catch(() => undefined);
      throw error;
    }
    if (isClosed) return await fresh.end();
    client = fresh;
    known.notifyOfGap();
  }

  function lose(lost: pg.Client): void {
    if (client !== lost || isClosed) return;
    client = undefined;
    reconnectAfter(RECONNECT_DELAY_MS);
  }

  function reconnectAfter(delayMs: number): void {
    if (isClosed) return;
    timer = setTimeout(() => {
      connecting = onLost()
        .then(connect)
        .catch(() => reconnectAfter(Math.min(delayMs * 2, RECONNECT_DELAY_MS_MAX)));
    }, delayMs);
    timer.unref();
  }

  return {
    async listen(channel, listener) {
      const isNew = known.add(channel, listener);
      if (client === undefined && connecting === undefined) connecting = connect();
      await connecting;
      if (isNew) await client?.query(`listen ${pg.escapeIdentifier(channel)}`);
      return () => known.remove(channel, listener);
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await connecting?.catch(() => undefined);
      await client?.end().catch(() => undefined);
    },
  };
}
