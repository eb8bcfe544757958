import { DomainError } from "@berth/core";
import type { Engine, ServerMachine, ServerRecord, Proxy as SiteProxy } from "@berth/core/ports";
import type { ServerCleaner } from "@berth/core/server";
import type { Connect } from "@berth/worker";

/** Adapters of one server. */
export interface Member {
  readonly engine: Engine;
  readonly proxy: SiteProxy;
  /** Machine of its engine; `undefined` for this machine's processes. */
  readonly machine?: ServerMachine | undefined;
  /** `undefined`: its engine keeps nothing that is cleaned up. */
  readonly cleaner?: ServerCleaner | undefined;
  /** How its releases are reached; `undefined`: from this machine, by their addresses. */
  readonly connect?: Connect | undefined;
  /** The server's record is another one now. What is reached by it is reached anew when that has changed. */
  update(server: ServerRecord): void;
  /** Looks at once instead of waiting after a failure: somebody has just mended the server. */
  retryNow(): void;
  close(): Promise<void>;
}

/** The servers that this control plane works on, each with one engine and one proxy for all who ask. */
export interface Fleet {
  /** @throws DomainError `engine.unreachable` for what only another control plane reaches. */
  member(server: ServerRecord): Member;
  isWithinReach(server: ServerRecord): boolean;
  /** The member of a server that was asked for before. */
  known(serverId: number): Member | undefined;
  /** Lets go of servers that are not among these, and not recorded either: one may be newer than the list. */
  keepOnly(servers: readonly ServerRecord[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param make Begins nothing by itself; `undefined` for a server that cannot be reached from here.
 * @param isRecorded Asked of servers that a list lacks.
 */
export function fleet(
  make: (server: ServerRecord) => Member | undefined,
  isRecorded: (serverId: number) => Promise<boolean>,
): Fleet {
  const members = new Map<number, Member>();
  const records = new Map<number, ServerRecord>();
  const closing = new Set<Promise<void>>();
  let isClosed = false;

  const find = (server: ServerRecord): Member | undefined => {
    if (isClosed) return undefined;
    const known = members.get(server.id);
    const record = records.get(server.id);
    // Loops ask with the same record again and again, and with one that was read before the last change.
    if (known !== undefined && record !== undefined && server.revision <= record.revision) return known;
    if (known !== undefined) {
      records.set(server.id, server);
      known.update(server);
      return known;
    }
    const made = make(server);
    if (made === undefined) return undefined;
    members.set(server.id, made);
    records.set(server.id, server);
    return made;
  };

  const letGo = (id: number, member: Member) => {
    members.delete(id);
    records.delete(id);
    // Failures while closing a removed server are ignored.
    const work = member.close().catch(() => undefined);
    closing.add(work);
    void work.finally(() => closing.delete(work));
  };

  return {
    member(server) {
      const found = find(server);
      if (found !== undefined) return found;
      throw new DomainError(
        "engine.unreachable",
        `Server ${server.name} is not within reach of this control plane. It is another machine's own engine, or its kind is not supported.`,
      );
    },
    known: (serverId) => members.get(serverId),
    isWithinReach: (server) => find(server) !== undefined,
    async keepOnly(servers) {
      const ids = new Set(servers.map(({ id }) => id));
      const absent = [...members].filter(([id]) => !ids.has(id));
      for (const [id, member] of absent) {
        if (!(await isRecorded(id)) && members.get(id) === member) letGo(id, member);
      }
    },
    async close() {
      isClosed = true;
      for (const [id, member] of members) letGo(id, member);
      await Promise.all(closing);
    },
  };
}
