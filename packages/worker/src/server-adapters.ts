import type { Engine, ServerMachine, ServerRecord, Proxy as SiteProxy } from "@berth/core/ports";
import type { Connect, WorkerDeps } from "./ports.ts";
import { type ReplicaHealth, replicaHealth } from "./replica-health.ts";
import { createRouter, type Router } from "./router.ts";

/** Engine, proxy and connection of one server. */
export interface ServerAdapters {
  readonly server: ServerRecord;
  readonly engine: Engine;
  readonly proxy: SiteProxy;
  readonly router: Router;
  readonly replicaHealth: ReplicaHealth;
  readonly connect: Connect | undefined;
  /** `undefined`: this machine itself, or an unreachable one. */
  readonly machine: ServerMachine | undefined;
}

/** Caches engine, proxy and router of each server, for deployments and reconciler alike. */
export interface AdapterCache {
  of(server: ServerRecord): ServerAdapters;
  /** Drops the adapters of a server that was deleted or is out of reach. */
  forget(serverId: number): void;
}

export function adapterCache(deps: WorkerDeps): AdapterCache {
  const known = new Map<number, ServerAdapters>();
  const of = (server: ServerRecord): ServerAdapters => {
    const existing = known.get(server.id);
    if (existing !== undefined && !hasOtherEngine(server, existing.server)) return { ...existing, server };
    const engine = deps.engineFor(server);
    const proxy = deps.proxyFor(server);
    const health = replicaHealth();
    const adapters = {
      server,
      engine,
      proxy,
      router: createRouter(deps.stores, { serverId: server.id, engine, proxy, replicaHealth: health }),
      replicaHealth: health,
      connect: deps.connectorFor?.(server),
      machine: deps.machineOf(server),
    };
    known.set(server.id, adapters);
    return adapters;
  };
  return { of, forget: (serverId) => void known.delete(serverId) };
}

/** A server may become the manager of a cluster. Loops sometimes pass an older record. */
const hasOtherEngine = (now: ServerRecord, before: ServerRecord): boolean =>
  now.engine !== before.engine && now.revision > before.revision;
