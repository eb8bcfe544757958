import { DomainError, invalid, notFound } from "@berth/core";
import {
  type ApplicationRollback,
  buildTag,
  findBuild,
  liveKeyOf,
  type RollbackImages,
  rollbackImagesView,
} from "@berth/core/deploy";
import type { ApplicationRecord, KeptBuild, Stores } from "@berth/core/ports";
import { requireAbility } from "@berth/core/team";
import { findApplication } from "./application.ts";
import type { UseCaseContext } from "./context.ts";
import { applicationRequest, requestDeployment } from "./deployment-request.ts";
import type { DeploymentStarted } from "./lifecycle.ts";

/** Rolls an application back to a build that its server keeps. */
export function rollbacks(context: UseCaseContext) {
  const { scope, stores } = context;
  return {
    async images(uuid: string): Promise<RollbackImages> {
      requireAbility(scope, "read");
      const application = await findApplication(stores, uuid);
      return rollbackImagesView(await stores.releases.builds(liveKeyOf(application)));
    },

    /** @throws DomainError `queue.full`, `engine.unsupported`, `resource.state` */
    async rollBack(uuid: string, { commit }: ApplicationRollback): Promise<DeploymentStarted> {
      requireAbility(scope, "deploy");
      return stores.transaction(async (tx) => {
        const application = await findApplication(tx, uuid);
        await requireKeptBuilds(context, tx, application);
        const builds = await tx.releases.builds(liveKeyOf(application));
        const rollbackTo = findBuild(builds, commit);
        if (rollbackTo === undefined) throw invalid({ commit: [notKept(commit, builds)] });
        const { deployment } = await requestDeployment(context, tx, applicationRequest(application, { rollbackTo }));
        return { message: "Rollback deployment queued.", deployment_uuid: deployment.uuid };
      });
    },
  };
}

async function requireKeptBuilds(
  { engineFor }: Pick<UseCaseContext, "engineFor">,
  tx: Stores,
  { server_id }: ApplicationRecord,
): Promise<void> {
  const server = await tx.servers.findById(server_id);
  if (server === undefined) throw notFound("Server");
  const engine = await engineFor(server);
  if (engine.capabilities.keepsBuilds) return;
  const sentence = `Server ${server.name} keeps no earlier builds, so there is nothing to roll back to. Deploy the commit instead, or use a server with Docker.`;
  throw new DomainError("engine.unsupported", sentence);
}

function notKept(commit: string, builds: readonly KeptBuild[]): string {
  const kept = builds.map(buildTag);
  const known = kept.length === 0 ? "No image is kept yet." : `Kept are: ${kept.join(", ")}.`;
  return `No image of ${commit} is kept on the server. ${known} To get back to another commit, deploy it.`;
}
