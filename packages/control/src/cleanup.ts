import { DomainError } from "@berth/core";
import type { ServerRecord } from "@berth/core/ports";
import type { CleanupStarted, ServerCleanup } from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import type { UseCaseContext } from "./context.ts";
import { requestJob } from "./job.ts";
import { findServer, requireStaying } from "./server.ts";

/** Cleans up a server at once, in addition to its `docker_cleanup_frequency`. */
export function cleanups(context: UseCaseContext) {
  const { scope, stores, planCleanup } = context;
  return {
    /** @throws DomainError `engine.unsupported`, `engine.unreachable`, `resource.state` */
    async cleanUp(uuid: string, { dry_run = false }: ServerCleanup): Promise<CleanupStarted> {
      requireAbility(scope, "write");
      const server = await findServer(stores, uuid);
      requireStaying(server);
      // On a server without anything to clean up, the job would only fail later.
      const operations = await planCleanup?.(server);
      if (operations === undefined) throw nothingToClean(server);
      if (dry_run) return { message: `${operations.length} objects would be removed.`, operations: [...operations] };
      const job = await stores.transaction((tx) =>
        requestJob(context, tx, "server.cleanup", { ...server, type: "server" }),
      );
      return { message: "Cleanup started.", job_uuid: job.uuid };
    },
  };
}

const nothingToClean = ({ name }: ServerRecord) =>
  new DomainError("engine.unsupported", `Server ${name} has no images or volumes to clean up: that needs Docker.`);
