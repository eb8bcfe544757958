import type { ServerRecord } from "@berth/core/ports";
import type { ServerAdapters } from "./server-adapters.ts";

/** State of one server, from its first visit to its last. */
interface VisitedServer {
  /** The visit that is under way. */
  visit: Promise<void> | undefined;
  /** Whether something changed after the current visit took its snapshot. */
  isStale: boolean;
  /** Ends the watch over what runs; `undefined`: it is not watched. */
  unsubscribe: (() => void) | undefined;
}

interface Visiting {
  /** Must not reject. */
  readonly work: (adapters: ServerAdapters) => Promise<void>;
  /** Requests another round of visits. */
  readonly wake: () => void;
}

/** Visits servers side by side, so that one that does not answer delays no other; each at most once at a time. */
export class ServerVisits {
  readonly #servers = new Map<number, VisitedServer>();
  readonly #visiting: Visiting;
  #isStopping = false;

  constructor(visiting: Visiting) {
    this.#visiting = visiting;
  }

  begin(adapters: ServerAdapters): void {
    const visited = this.#visitedOf(adapters.server.id);
    if (visited.visit !== undefined) {
      visited.isStale = true;
      return;
    }
    visited.visit = this.#visiting.work(adapters).finally(() => {
      visited.visit = undefined;
      if (visited.isStale && !this.#isStopping) this.#visiting.wake();
      visited.isStale = false;
    });
  }

  /** Requests visits when something changes on this server. */
  watch({ server, engine }: ServerAdapters): void {
    if (this.#isStopping) return;
    this.#visitedOf(server.id).unsubscribe ??= engine.onStateChange(this.#visiting.wake);
  }

  /** Leaves the changes of this server to another control plane. */
  unwatch(serverId: number): void {
    const visited = this.#servers.get(serverId);
    visited?.unsubscribe?.();
    if (visited !== undefined) visited.unsubscribe = undefined;
  }

  /** Forgets the servers that are not among these. @returns Their ids. */
  keepOnly(servers: readonly ServerRecord[]): readonly number[] {
    const kept = new Set(servers.map(({ id }) => id));
    const gone = [...this.#servers].filter(([id]) => !kept.has(id));
    for (const [id] of gone) {
      this.unwatch(id);
      this.#servers.delete(id);
    }
    return gone.map(([id]) => id);
  }

  ids(): readonly number[] {
    return [...this.#servers.keys()];
  }

  /** Ends the watches; visits that are under way continue. */
  stop(): void {
    this.#isStopping = true;
    for (const id of this.ids()) this.unwatch(id);
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ visit }) => visit));
  }

  #visitedOf(serverId: number): VisitedServer {
    const known = this.#servers.get(serverId);
    if (known !== undefined) return known;
    const visited = { visit: undefined, isStale: false, unsubscribe: undefined };
    this.#servers.set(serverId, visited);
    return visited;
  }
}
