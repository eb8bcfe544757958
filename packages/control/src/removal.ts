import type { RemovalFlags } from "@berth/core/deploy";
import type { DeploymentRecord, JobRecord, ResourceRecord, ServerRecord, Stores } from "@berth/core/ports";
import type { UseCaseContext } from "./context.ts";
import { requestJob } from "./job.ts";

type RemovalContext = Pick<UseCaseContext, "ids">;

/** Marks a resource for removal by the worker. Idempotent. */
export async function requestRemoval(
  context: RemovalContext,
  tx: Stores,
  resource: ResourceRecord,
  flags: RemovalFlags,
): Promise<JobRecord> {
  if (await tx.resources.markRemoving(resource.id, flags)) {
    await cancelDeployments(tx, ({ resource_id }) => resource_id === resource.id);
  }
  return requestJob(context, tx, "resource.delete", { ...resource, type: resource.kind });
}

/** Does the same for all resources of a server on which nothing new can be created. */
export async function requestRemovalOfAll(
  { ids }: RemovalContext,
  tx: Stores,
  server: ServerRecord,
  flags: RemovalFlags,
): Promise<void> {
  const resources = await tx.resources.markRemovingOn(server.id, flags);
  await cancelDeployments(tx, ({ server_id }) => server_id === server.id);
  await tx.jobs.request(
    resources.map((resource) => ({
      uuid: ids.uuid(),
      type: "resource.delete",
      subject: { ...resource, type: resource.kind },
    })),
  );
}

type Deployment = Pick<DeploymentRecord, "resource_id" | "server_id" | "pull_request_id">;

export async function cancelDeployments(tx: Stores, isMeant: (deployment: Deployment) => boolean): Promise<void> {
  const { items } = await tx.deployments.listActive();
  for (const deployment of items) if (isMeant(deployment)) await tx.deployments.requestCancel(deployment.uuid);
}
