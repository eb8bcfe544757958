import { type DeploySubject, deployedKind } from "@berth/core/deploy";
import type { Engine, ReleaseRecord, SystemStores } from "@berth/core/ports";

/** Decides whether the build of a retiring release is kept for rollbacks. */
export interface BuildKeeping {
  /** Whether its image stays, because another release uses it or it is kept. The release is then only stopped. */
  readonly staysBuilt: boolean;
  /**
   * Call it after the release was removed: updates its record, and removes kept builds beyond the configured number.
   */
  finish(): Promise<void>;
}

interface Kept {
  readonly record: ReleaseRecord;
  /** The release's resource; `undefined`: it was removed. */
  readonly subject: DeploySubject | undefined;
  /** Whether another release runs the same build. */
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
    async finish() {
      if (isHeld || count === 0) await stores.releases.delete(record.deployment_id);
      else await stores.releases.keep(record.deployment_id);
      // What ran last is the newest to go back to, also where the build was made long ago and run by a rollback.
      const kept = others.find(({ role }) => role === "kept");
      if (kept !== undefined) await stores.releases.keep(kept.deployment_id);
      if (record.pull_request_id === 0) await dropSurplus(stores, engine, record.resource_id, count);
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
  return deployedKind(subject).keptBuilds(subject);
}

async function othersOfBuild(stores: SystemStores, record: ReleaseRecord): Promise<readonly ReleaseRecord[]> {
  const all = await stores.releases.listByResources([record.resource_id]);
  return all.filter((other) => other.deployment_id !== record.deployment_id && other.built_by === record.built_by);
}

async function dropSurplus(stores: SystemStores, engine: Engine, resourceId: number, count: number): Promise<void> {
  for (const surplus of await stores.releases.listSurplus(resourceId, count)) {
    const { resource_uuid: resourceUuid, deployment_uuid, built_by } = surplus;
    const isHeld = (await othersOfBuild(stores, surplus)).length > 0;
    const uuids = isHeld ? [] : new Set([deployment_uuid, built_by]);
    for (const deploymentUuid of uuids) await engine.remove({ resourceUuid, deploymentUuid }, { graceSeconds: 0 });
    await stores.releases.delete(surplus.deployment_id);
  }
}
