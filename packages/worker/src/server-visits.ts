import type { ServerRecord } from "@berth/core/ports";
import type { ServerAdapters } from "./server-adapters.ts";

/** State of one server, from its first visit to its last. */
interface VisitedServer {
  /** The visit that is under way. */
  visit: Promise<void> | undefined;
  /** Whether something changed after the current visit took its snapshot. */
  isStale: boolean;
  readonly unsubscribe: () => void;
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
    const visited = this.#visitedOf(adapters);
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

  /** Forgets the servers that are not among these. @returns Their ids. */
  keepOnly(servers: readonly ServerRecord[]): readonly number[] {
    const kept = new Set(servers.map(({ id }) => id));
    const gone = [...this.#servers].filter(([id]) => !kept.has(id));
    for (const [id, { unsubscribe }] of gone) {
      unsubscribe();
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
    for (const { unsubscribe } of this.#servers.values()) unsubscribe();
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#servers.values()].map(({ visit }) => visit));
  }

  #visitedOf({ server, engine }: ServerAdapters): VisitedServer {
    const known = this.#servers.get(server.id);
    if (known !== undefined) return known;
    const { wake } = this.#visiting;
    const visited = { visit: undefined, isStale: false, unsubscribe: engine.onStateChange(wake) };
    this.#servers.set(server.id, visited);
    return visited;
  }
}
