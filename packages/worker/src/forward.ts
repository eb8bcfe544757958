import { isDomainError } from "@berth/core";
import type { DatabaseRecord, Forward, Forwarder } from "@berth/core/ports";
import { forwardOf, planForwards } from "@berth/core/server";
import { batched } from "./batch.ts";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { WorkerSettings } from "./settings.ts";
import { within } from "./wait.ts";

/** Opens and closes the public ports of databases, as they are recorded. */
export interface Forwards {
  /**
   * Looks whether a server's are right, unless that was just seen or is being done.
   *
   * @param revision Of the records: another object once one of a database may have changed.
   */
  sync(adapters: ServerAdapters, revision: object): void;
  forget(serverId: number): void;
  stop(): Promise<void>;
}

export interface ForwardDeps extends Pick<WorkerDeps, "stores" | "logger"> {
  readonly settings: WorkerSettings;
}

interface ServerState {
  /** The records that were last looked at. */
  revision: object | undefined;
  /** The state that was last applied. */
  recorded: string;
  syncedMs: number;
  work: Promise<void> | undefined;
}

export function createForwards(deps: ForwardDeps): Forwards {
  const { stores, settings, logger } = deps;
  const serverStates = new Map<number, ServerState>();
  const warnings = dedupedWarnings(logger);
  const publicOf = batched(async (serverIds: readonly number[]) =>
    Map.groupBy(await stores.databases.listForwarded(serverIds), ({ server_id }) => server_id),
  );

  const look = async ({ server, engine }: ServerAdapters, serverState: ServerState, revision: object) => {
    const forwards = engine.containers?.forwards;
    if (forwards === undefined) return;
    const patience = serverState.recorded === NONE ? RESYNCS_WITHOUT_FORWARDS : 1;
    const isDue = performance.now() - serverState.syncedMs > settings.resyncSeconds * patience * 1000;
    if (revision === serverState.revision && !isDue) return;
    const databases = (await publicOf(server.id)) ?? [];
    const wanted = databases.flatMap((database) => forwardOf(database) ?? []);
    const recorded = JSON.stringify(wanted);
    if (recorded === serverState.recorded && !isDue) {
      serverState.revision = revision;
      return;
    }
    for (const operation of planForwards(wanted, await forwards.list())) {
      if (operation.type === "close") await forwards.close(operation.resourceUuid);
      else await open(forwards, operation.forward, { databases, server: server.name });
    }
    serverState.revision = revision;
    serverState.recorded = recorded;
    serverState.syncedMs = performance.now();
  };

  /** A port that is in use is retried at the next full check, and reported once. */
  const open = async (
    forwards: Forwarder,
    forward: Forward,
    { databases, server }: { databases: readonly DatabaseRecord[]; server: string },
  ) => {
    const { resourceUuid, publicPort } = forward;
    const database = databases.find(({ uuid }) => uuid === resourceUuid);
    if (database === undefined) return;
    try {
      await forwards.open(forward);
      logger.info("A public port of a database was opened.", { server, database: resourceUuid, port: publicPort });
      if (database.public_port_problem === null) return;
      await stores.databases.recordPortProblem(database.id, publicPort, null);
      await emit(database, "resource.port_opened");
    } catch (error) {
      if (!isDomainError(error, "port.taken", "setup.failed")) throw error;
      if (database.public_port_problem === error.message) return;
      logger.warn("A public port of a database cannot be opened.", { server, database: resourceUuid, error });
      await stores.databases.recordPortProblem(database.id, publicPort, error.message);
      await emit(database, "resource.port_refused", error.message);
    }
  };

  const emit = async ({ uuid, kind, name, team_id, public_port }: DatabaseRecord, type: string, error?: string) => {
    const payload = {
      resource_kind: kind,
      resource_name: name,
      public_port,
      ...(error === undefined ? {} : { error }),
    };
    await stores.forTeam(team_id).events.append({ type, resource_uuid: uuid, payload });
  };

  return {
    sync(adapters, revision) {
      const { server } = adapters;
      const serverState = serverStates.get(server.id) ?? {
        revision: undefined,
        recorded: "",
        syncedMs: NEVER,
        work: undefined,
      };
      serverStates.set(server.id, serverState);
      const about = String(server.id);
      serverState.work ??= look(adapters, serverState, revision)
        .then(() =>
          warnings.over(about, "The public ports of a server are looked after again.", { server: server.name }),
        )
        .catch((error: unknown) => {
          warnings.failed(about, "The public ports of a server cannot be checked.", {
            server: server.name,
            error,
          });
        })
        .finally(() => {
          serverState.work = undefined;
        });
    },
    forget(serverId) {
      serverStates.delete(serverId);
      warnings.forget(String(serverId));
    },
    async stop() {
      await within(STOP_SECONDS_MAX, Promise.all([...serverStates.values()].map(({ work }) => work)));
    },
  };
}

const NEVER = Number.NEGATIVE_INFINITY;
/** Recorded of a server without public ports. */
const NONE = "[]";
/** Such a server is asked more rarely: Berth has nothing to lose there, and closes what it no longer records at once. */
const RESYNCS_WITHOUT_FORWARDS = 5;
const STOP_SECONDS_MAX = 10;
