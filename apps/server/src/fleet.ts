import { DomainError } from "@berth/core";
import type { ClusterMembership, Engine, ServerMachine, ServerRecord, Proxy as SiteProxy } from "@berth/core/ports";
import type { ServerCleaner } from "@berth/core/server";
import type { SwarmNode } from "@berth/engine";
import type { Address, FrontDoor, IngressNode } from "@berth/proxy";
import type { Connect } from "@berth/worker";

/** Engine, proxy and connection of one server. */
export interface Member {
  readonly engine: Engine;
  readonly proxy: SiteProxy;
  /** Its proxy, where that serves this machine's processes too. */
  readonly frontDoor?: FrontDoor | undefined;
  /** Machine of the server's Docker engine; `undefined` for this machine's process engine. */
  readonly machine?: ServerMachine | undefined;
  /** Adapters for its node of a cluster; `undefined` for this machine's process engine. */
  readonly node?: Omit<SwarmNode, "id"> | undefined;
  /** Its proxy, as a node that takes requests for its cluster; `undefined` as `node`. */
  readonly ingress?: IngressNode | undefined;
  /** What those nodes need of the manager; `undefined` for any other server. */
  readonly ingressHead?: IngressHead | undefined;
  /** Makes it a node of a cluster; `undefined` as `node`. */
  readonly membership?: ClusterMembership | undefined;
  /** `undefined` for engines without images and caches. */
  readonly cleaner?: ServerCleaner | undefined;
  /** Connects to its releases; `undefined`: from this machine, by their addresses. */
  readonly connect?: Connect | undefined;
  /** Applies a changed record: reconnects if the address or login changed. */
  update(server: ServerRecord): void;
  /** Clears the delay after a failed connect, because somebody has repaired the server. */
  retryNow(): void;
  close(): Promise<void>;
}

/** The manager of a cluster, as the nodes see it that take requests too. */
export interface IngressHead {
  /** Names of the networks that releases of the cluster are in. */
  overlays(): Promise<readonly string[]>;
  /** Address of the proxy that obtains certificates; `undefined` before the networks were asked for. */
  issuingProxy(): Address | undefined;
  /** Tells all of them the sites, since one has begun to take requests. Does not wait. */
  nodesChanged(): void;
}

/** The servers of this control plane, each with one engine and one proxy that all callers share. */
export interface Fleet {
  /** @throws DomainError `engine.unreachable` for servers that only another control plane reaches. */
  member(server: ServerRecord): Member;
  isWithinReach(server: ServerRecord): boolean;
  /** The member of a server, if it was requested before. */
  known(serverId: number): Member | undefined;
  /** Closes servers that are neither in this list nor recorded: a recorded one may be newer than the list. */
  keepOnly(servers: readonly ServerRecord[]): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param make Must not start any work; returns `undefined` for a server that cannot be reached from here.
 * @param isRecorded Called for servers that are missing in a list.
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
    // Loops pass the same record repeatedly, and sometimes an older one.
    if (known !== undefined && record !== undefined && server.revision <= record.revision) return known;
    const isOther = record !== undefined && record.engine !== server.engine;
    if (known !== undefined && !isOther) {
      records.set(server.id, server);
      known.update(server);
      return known;
    }
    if (known !== undefined) letGo(server.id, known);
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
