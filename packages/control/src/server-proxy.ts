import { DomainError } from "@berth/core";
import type { ServerRecord } from "@berth/core/ports";
import {
  ENGINES,
  type JobStarted,
  type JobType,
  type ServerProxyDetails,
  type ServerProxyUpdate,
  serverProxyView,
} from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requestJob } from "./job.ts";
import { findServer, requireStaying, servers } from "./server.ts";

/** The proxy in a container of a server. The worker starts and stops it. */
export function serverProxies(context: UseCaseContext) {
  const { scope, stores } = context;

  /** The last request counts, in whatever order the jobs end. */
  const request = async (uuid: string, { type, isStopped, message }: Action): Promise<JobStarted> => {
    requireAbility(scope, "write");
    const job = await stores.transaction(async (tx) => {
      const server = await findServer(tx, uuid);
      requireStaying(server);
      requireContainer(server);
      await tx.servers.update(uuid, { is_proxy_stopped: isStopped });
      return await requestJob(context, tx, type, { ...server, type: "server" });
    });
    return { message, job_uuid: job.uuid };
  };

  return {
    async get(uuid: string): Promise<ServerProxyDetails> {
      requireAbility(scope, "read");
      return serverProxyView(await findServer(stores, uuid));
    },

    /** @throws DomainError `engine.unsupported`, `resource.state` like a change of the server */
    async update(uuid: string, sent: ServerProxyUpdate): Promise<ServerProxyDetails> {
      await servers(context).update(uuid, sent);
      return serverProxyView(await findServer(stores, uuid));
    },

    /** @throws DomainError `engine.unsupported`, `resource.state` */
    start: (uuid: string) => request(uuid, ACTIONS.start),
    /** @throws DomainError `engine.unsupported`, `resource.state` */
    stop: (uuid: string) => request(uuid, ACTIONS.stop),
    /** @throws DomainError `engine.unsupported`, `resource.state` */
    restart: (uuid: string) => request(uuid, ACTIONS.restart),
  };
}

interface Action {
  readonly type: JobType;
  readonly isStopped: boolean;
  readonly message: string;
}

const ACTIONS = {
  start: { type: "server.start_proxy", isStopped: false, message: "Proxy start requested." },
  stop: { type: "server.stop_proxy", isStopped: true, message: "Proxy stop requested." },
  restart: { type: "server.restart_proxy", isStopped: false, message: "Proxy restart requested." },
} as const satisfies Record<string, Action>;

/** @throws DomainError `engine.unsupported`, `resource.state` */
function requireContainer({ engine, name, proxy_type }: ServerRecord): void {
  if (!ENGINES[engine].hasContainers) {
    throw new DomainError(
      "engine.unsupported",
      `Server ${name} has Berth's own proxy, which runs as long as Berth does.`,
    );
  }
  if (proxy_type.toUpperCase() === "NONE") {
    throw new DomainError("resource.state", `Server ${name} has no proxy. Choose a proxy_type for it first.`);
  }
}
