import { type DeploySubject, deployedKind } from "@berth/core/deploy";
import type { Engine, ReleaseRecord, SystemStores } from "@berth/core/ports";

/** Decides whether the build of a retiring release is kept for rollbacks. */
export interface BuildKeeping {
  /** Whether its image stays, because another release uses it or it is kept. The release is then only stopped. */
  readonly staysBuilt: boolean;
  /**
   * Updates the record of the release, once that was removed.
   * @returns Kept builds of the resource beyond the configured number, to be dropped.
   */
  record(stores: SystemStores): Promise<readonly ReleaseRecord[]>;
}

interface Kept {
  readonly record: ReleaseRecord;
  /** The release's resource; `undefined`: it was removed. */
  readonly subject: DeploySubject | undefined;
  /** Whether another release on its server runs the same build. */
  readonly isInUse: boolean;
}

export async function keepBuild(
  stores: SystemStores,
  engine: Engine,
  { record, subject, isInUse }: Kept,
): Promise<BuildKeeping> {
  const count = await keepCount(stores, engine, record, subject);
  const isOwnBuild = record.built_by === record.deployment_uuid;
  const others = await othersOfBuild(stores, record);
  const isHeld = isInUse || others.length > 0;
  return {
    staysBuilt: isOwnBuild && (isHeld || count > 0),
    async record({ releases }) {
      if (isHeld || count === 0) await releases.delete(record.deployment_id);
      else await releases.keep(record.deployment_id);
      // What ran last is the newest to go back to, also where the build was made long ago and run by a rollback.
      const kept = others.find(({ role }) => role === "kept");
      if (kept !== undefined) await releases.keep(kept.deployment_id);
      return record.pull_request_id === 0 ? await releases.listSurplus(record, count) : [];
    },
  };
}

async function keepCount(
  stores: SystemStores,
  { capabilities }: Engine,
  { server_id, pull_request_id }: ReleaseRecord,
  subject: DeploySubject | undefined,
): Promise<number> {
  if (!capabilities.keepsBuilds || pull_request_id !== 0) return 0;
  const server = (await stores.servers.list()).find(({ id }) => id === server_id);
  if (server === undefined || server.settings.disable_application_image_retention) return 0;
  if (subject === undefined || subject.record.removing_at !== null) return 0;
  // Nobody rolls back on a server that the resource has left.
  if (subject.record.server_id !== server_id) return 0;
  return deployedKind(subject).keptBuilds(subject);
}

async function othersOfBuild(stores: SystemStores, record: ReleaseRecord): Promise<readonly ReleaseRecord[]> {
  const all = await stores.releases.listByResources([record.resource_id]);
  return all.filter(
    ({ deployment_id, server_id, built_by }) =>
      deployment_id !== record.deployment_id && server_id === record.server_id && built_by === record.built_by,
  );
}

export async function dropSurplus(
  stores: SystemStores,
  engine: Engine,
  surplus: readonly ReleaseRecord[],
): Promise<void> {
  for (const release of surplus) {
    const { resource_uuid: resourceUuid, deployment_uuid, built_by } = release;
    const isHeld = (await othersOfBuild(stores, release)).length > 0;
    const uuids = isHeld ? [] : new Set([deployment_uuid, built_by]);
    for (const deploymentUuid of uuids) await engine.remove({ resourceUuid, deploymentUuid }, { graceSeconds: 0 });
    await stores.releases.delete(release.deployment_id);
  }
}
