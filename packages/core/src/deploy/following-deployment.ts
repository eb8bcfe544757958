import type { ErrorCode } from "../errors.ts";
import type { DeploymentRecord } from "../ports/records.ts";

/** Failures that say nothing about the release, so that other servers can still get it. */
const OF_THE_SERVER_ALONE: ReadonlySet<string | null> = new Set<ErrorCode>([
  "engine.unreachable",
  "server.unreachable",
  "cluster.no_leader",
]);

/**
 * Why the deployments to the other servers of an application do not start after the first has ended; `undefined`: they
 * start. A release that cannot be built or does not become healthy on the first server is not tried on the others.
 */
export function whyNotFollowed({
  status,
  error_code,
  server_name,
}: Pick<DeploymentRecord, "status" | "error_code" | "server_name">): string | undefined {
  if (status === "cancelled-by-user") return `Cancelled with the deployment to server ${server_name}.`;
  if (status !== "failed" || OF_THE_SERVER_ALONE.has(error_code)) return undefined;
  return `Not started, since the deployment to server ${server_name} failed. Deploy to this server alone to try it here.`;
}
