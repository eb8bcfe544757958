import { isDomainError } from "@berth/core";
import type { DatabaseRecord, Forward } from "@berth/core/ports";
import { forwardOf, planForwards } from "@berth/core/server";
import { batched } from "./batch.ts";
import type { ServerHands } from "./hands.ts";
import type { WorkerDeps } from "./ports.ts";
import type { WorkerSettings } from "./settings.ts";
import { troubles } from "./troubles.ts";
import { within } from "./wait.ts";

/** Keeps the ports of servers that lead to databases as they are recorded. */
export interface Forwards {
  /** Looks whether a server's are right, unless that was just seen or is being done. */
  sync(hands: ServerHands): void;
  forget(serverId: number): void;
  stop(): Promise<void>;
}

export interface ForwardDeps extends Pick<WorkerDeps, "stores" | "logger"> {
  readonly settings: WorkerSettings;
}

interface Post {
  /** What it was last brought to. */
  recorded: string;
  syncedMs: number;
  work: Promise<void> | undefined;
}

export function createForwards(deps: ForwardDeps): Forwards {
  const { stores, settings, logger } = deps;
  const posts = new Map<number, Post>();
  const trouble = troubles(logger);
  const publicOf = batched(async (serverIds: readonly number[]) =>
    Map.groupBy(await stores.databases.listPublic(serverIds), ({ server_id }) => server_id),
  );

  const look = async ({ server, engine }: ServerHands, post: Post) => {
    const { forwards } = engine;
    if (forwards === undefined) return;
    const databases = (await publicOf(server.id)) ?? [];
    const wanted = databases.flatMap((database) => forwardOf(database) ?? []);
    const recorded = JSON.stringify(wanted);
    const isDue = performance.now() - post.syncedMs > settings.resyncSeconds * 1000;
    if (recorded === post.recorded && !isDue) return;
    for (const operation of planForwards(wanted, await forwards.list())) {
      if (operation.type === "close") await forwards.close(operation.resourceUuid);
      else await open(forwards, operation.forward, { databases, server: server.name });
    }
    post.recorded = recorded;
    post.syncedMs = performance.now();
  };

  /** A port that somebody else has is tried again with the next look at everything, and told of once. */
  const open = async (
    forwards: NonNullable<ServerHands["engine"]["forwards"]>,
    forward: Forward,
    { databases, server }: { databases: readonly DatabaseRecord[]; server: string },
  ) => {
    const { resourceUuid, publicPort } = forward;
    const database = databases.find(({ uuid }) => uuid === resourceUuid);
    if (database === undefined) return;
    try {
      await forwards.open(forward);
      logger.info("A port of a server leads to a database.", { server, database: resourceUuid, port: publicPort });
      if (database.public_port_problem === null) return;
      await stores.databases.recordPortProblem(database.id, publicPort, null);
      await tell(database, "resource.port_opened");
    } catch (error) {
      if (!isDomainError(error, "port.taken", "setup.failed")) throw error;
      if (database.public_port_problem === error.message) return;
      logger.warn("A port of a server cannot lead to a database.", { server, database: resourceUuid, error });
      await stores.databases.recordPortProblem(database.id, publicPort, error.message);
      await tell(database, "resource.port_refused", error.message);
    }
  };

  const tell = async ({ uuid, kind, name, team_id, public_port }: DatabaseRecord, type: string, error?: string) => {
    const payload = {
      resource_kind: kind,
      resource_name: name,
      public_port,
      ...(error === undefined ? {} : { error }),
    };
    await stores.forTeam(team_id).events.append({ type, resource_uuid: uuid, payload });
  };

  return {
    sync(hands) {
      const { server } = hands;
      const post = posts.get(server.id) ?? { recorded: "", syncedMs: NEVER, work: undefined };
      posts.set(server.id, post);
      const about = String(server.id);
      post.work ??= look(hands, post)
        .then(() =>
          trouble.over(about, "The public ports of a server are looked after again.", { server: server.name }),
        )
        .catch((error: unknown) => {
          trouble.failed(about, "The public ports of a server cannot be looked after.", { server: server.name, error });
        })
        .finally(() => {
          post.work = undefined;
        });
    },
    forget(serverId) {
      posts.delete(serverId);
      trouble.forget(String(serverId));
    },
    async stop() {
      await within(STOP_SECONDS_MAX, Promise.all([...posts.values()].map(({ work }) => work)));
    },
  };
}

const NEVER = Number.NEGATIVE_INFINITY;
const STOP_SECONDS_MAX = 10;
