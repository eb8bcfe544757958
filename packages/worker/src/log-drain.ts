import { isServerAway } from "@berth/core";
import type { ServerRecord } from "@berth/core/ports";
import { hasLogDrain } from "@berth/core/server";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { DrainSession, DrainSessionDeps } from "./log-drain-session.ts";
import { createLoops } from "./loop.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WakeSignal } from "./wake-signal.ts";

/** Delivers the log lines of resources to the log drains of their servers. */
export interface LogDrains {
  start(): void;
  /** Ends what is being sent, and leaves the rest to the next start. */
  stop(): Promise<void>;
}

export interface LogDrainDeps extends DrainSessionDeps, Pick<WorkerDeps, "ownsServer"> {
  adaptersOf(server: ServerRecord): ServerAdapters;
}

/** The control plane that has a server's lease delivers its lines. Without a log drain, nothing is read but the servers. */
export function createLogDrains(deps: LogDrainDeps, wakeSignal: WakeSignal): LogDrains {
  const { stores, settings, logger, serverLeases } = deps;
  const sessions = new Map<number, DrainSession>();
  const warnings = dedupedWarnings(logger);

  const round = async () => {
    const servers = (await stores.servers.list()).filter(
      (server) => hasLogDrain(server.settings) && server.removing_at === null && deps.ownsServer(server),
    );
    const ids = new Set(servers.map(({ id }) => id));
    const gone = [...sessions.keys()].filter((id) => !ids.has(id));
    await Promise.all([...gone.map(end), ...servers.map(visit)]);
  };

  const visit = async (server: ServerRecord) => {
    const about = String(server.id);
    try {
      if (!(await serverLeases.acquire(server.id))) return await end(server.id);
      const drained = await stores.logDrains.drained(server.id);
      // Loaded with the first log drain.
      const made = await import("./log-drain-session.ts");
      if (loops.signal.aborted) return;
      const session = sessions.get(server.id) ?? new made.DrainSession(deps, server);
      sessions.set(server.id, session);
      await session.update(deps.adaptersOf(server), drained);
      warnings.over(about, "The log drain of a server is looked after again.", { server: server.name });
    } catch (error) {
      if (isServerAway(error)) return;
      warnings.failed(about, "The log drain of a server cannot be looked after.", { server: server.name, error });
    }
  };

  const end = async (serverId: number) => {
    const session = sessions.get(serverId);
    sessions.delete(serverId);
    warnings.forget(String(serverId));
    await session?.stop();
  };

  const loops = createLoops(logger, [
    {
      title: "The delivery of log lines",
      work: round,
      // With a log drain, often enough to see that another control plane has the lease.
      seconds: () => (sessions.size === 0 ? settings.idleSeconds : settings.serverLeaseSeconds / 2),
      wake: { signal: wakeSignal, topics: ["server", "record"] },
      gatherSeconds: () => GATHER_SECONDS,
    },
  ]);

  return {
    start: () => loops.start(),
    async stop() {
      await loops.stop();
      await Promise.all([...sessions.keys()].map(end));
    },
  };
}

/** A deployment records several changes within moments. */
const GATHER_SECONDS = 0.1;
