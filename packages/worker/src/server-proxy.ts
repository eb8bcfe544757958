import { isDatabaseUnavailable, isDomainError } from "@berth/core";
import type { JobLease, JobRecord, SeenProxyStatus, ServerRecord } from "@berth/core/ports";
import { type JobType, proxyProblemOf, proxyStatusOf } from "@berth/core/server";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ValidationDeps } from "./server-validation.ts";

export const PROXY_JOBS = [
  "server.start_proxy",
  "server.stop_proxy",
  "server.restart_proxy",
] as const satisfies readonly JobType[];

/** Starts or stops a server's proxy as currently recorded, so that of several requests the last one counts. */
export async function changeProxy(
  deps: ValidationDeps,
  lease: JobLease,
  { type, subject_id }: Pick<JobRecord, "type" | "subject_id">,
): Promise<void> {
  const { stores, logger } = deps;
  const server = await stores.servers.find(subject_id);
  if (server === undefined) {
    await stores.jobs.finish(lease, "failed", "The server was deleted in the meantime.");
    return;
  }
  try {
    await bringTo(deps, server, type === "server.restart_proxy");
    await stores.jobs.finish(lease, "finished", null);
    logger.info("Proxy changed as requested.", { server: server.name, type });
  } catch (error) {
    if (!isDomainError(error) || isDatabaseUnavailable(error)) throw error;
    await stores.jobs.finish(lease, "failed", error.message);
  }
}

async function bringTo(deps: ValidationDeps, server: ServerRecord, isAnew: boolean): Promise<void> {
  // Uses the current record, which may have just changed.
  const { lifecycle } = deps.proxyFor(server);
  if (lifecycle === undefined) return;
  try {
    if (server.is_proxy_stopped) await lifecycle.stop();
    else await (isAnew ? lifecycle.restart() : lifecycle.start());
  } finally {
    await recordProxyStatus(deps, server, { lifecycle });
  }
}

interface ProxyNote {
  /** What else is wrong with it. */
  readonly problem?: string | undefined;
  /** The record as of a moment ago: nothing is written when it equals the observation. */
  readonly recorded?: Pick<ServerRecord, "proxy_status" | "proxy_problem">;
}

/** Looks at it; what it sees is written, and reported, when it changed. */
export async function recordProxyStatus(
  { stores }: Pick<ValidationDeps, "stores">,
  { id, is_proxy_stopped }: Pick<ServerRecord, "id" | "is_proxy_stopped">,
  { lifecycle }: Pick<ServerAdapters["proxy"], "lifecycle">,
  { problem: other, recorded }: ProxyNote = {},
): Promise<SeenProxyStatus | undefined> {
  if (lifecycle === undefined) return undefined;
  const seen = await lifecycle.status();
  const status = proxyStatusOf(seen);
  const problem = is_proxy_stopped ? null : (other ?? proxyProblemOf(seen));
  if (status === recorded?.proxy_status && problem === recorded.proxy_problem) return seen;
  await stores.servers.recordProxyStatus(id, status, problem);
  return seen;
}
