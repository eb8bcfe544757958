import type { Engine, ServerMachine, ServerRecord, Proxy as SiteProxy } from "@berth/core/ports";
import type { Connect, WorkerDeps } from "./ports.ts";
import { createRouter, type Router } from "./router.ts";

/** What a worker works on a server with. */
export interface ServerHands {
  readonly server: ServerRecord;
  readonly engine: Engine;
  readonly proxy: SiteProxy;
  readonly router: Router;
  readonly connect: Connect | undefined;
  /** `undefined`: it is this machine itself, or out of reach. */
  readonly machine: ServerMachine | undefined;
}

/** One engine, proxy and router for each server, for deployments and reconciler alike. */
export interface AllHands {
  of(server: ServerRecord): ServerHands;
  /** Of a server that is gone, or is not within reach any more. */
  forget(serverId: number): void;
}

export function allHands(deps: WorkerDeps): AllHands {
  const known = new Map<number, ServerHands>();
  const of = (server: ServerRecord): ServerHands => {
    const existing = known.get(server.id);
    if (existing !== undefined) return { ...existing, server };
    const engine = deps.engineFor(server);
    const proxy = deps.proxyFor(server);
    const hands = {
      server,
      engine,
      proxy,
      router: createRouter(deps.stores, engine, proxy),
      connect: deps.connectorFor?.(server),
      machine: deps.machineOf(server),
    };
    known.set(server.id, hands);
    return hands;
  };
  return { of, forget: (serverId) => void known.delete(serverId) };
}
