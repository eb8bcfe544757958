import type { Artifact } from "../deploy/artifact.ts";
import type { LiveKey, ServerPart } from "../deploy/live-key.ts";
import type { Upstream } from "../deploy/release.ts";
import type { Lease } from "./lease.ts";
import type { MeasuredRelease, ReleaseRecord, ReleaseRole } from "./records.ts";

export interface SystemReleaseStore {
  /** Fenced. Inserts or replaces the deployment's candidate. */
  saveCandidate(
    lease: Lease,
    release: { readonly artifact: Artifact; readonly built_by: string; readonly upstream: Upstream | null },
  ): Promise<boolean>;
  /**
   * Fenced. In one transaction, the candidate becomes `live` and the previous live release on its server `retiring`;
   * returns the previous one. Repeating it changes nothing and returns the same.
   */
  promote(lease: Lease): Promise<{ readonly previous: ReleaseRecord | undefined } | undefined>;
  /** Undoes `promote`: the release is a candidate again, and the one before it live. `false`: the lease is lost. */
  demote(lease: Lease): Promise<boolean>;
  find(deploymentId: number): Promise<ReleaseRecord | undefined>;
  live(key: LiveKey): Promise<ReleaseRecord | undefined>;
  /** Releases of this role. */
  listByRole(role: ReleaseRole, serverIds?: readonly number[]): Promise<readonly ReleaseRecord[]>;
  /** Live releases, without those of previews, on these servers where the server is recorded with the resource. */
  listMeasured(serverIds: readonly number[]): Promise<readonly MeasuredRelease[]>;
  /** All releases of a server, whatever their role, from one moment: a promotion is seen completely or not at all. */
  listByServer(serverId: number): Promise<readonly ReleaseRecord[]>;
  /** Like `listByServer`, for some resources. */
  listByResources(resourceIds: readonly number[]): Promise<readonly ReleaseRecord[]>;
  /** Id of the server that a deployment's release is recorded on. */
  serverOf(deploymentUuid: string): Promise<number | undefined>;
  /**
   * Makes a live or kept release `retiring` if its resource has left the server, has a live release on its primary one,
   * and the deployment of that release has ended. Otherwise nothing changes.
   */
  supersede(deploymentId: number): Promise<void>;
  setUpstream(deploymentId: number, upstream: Upstream | null): Promise<void>;
  delete(deploymentId: number): Promise<void>;
  /** A retiring release becomes `kept`: stopped, but its build stays. It is the newest of those that are kept. */
  keep(deploymentId: number): Promise<void>;
  /** The release whose build a rollback on this server uses; `undefined` if it is no longer kept there. */
  findBuild(part: ServerPart, builtBy: string): Promise<ReleaseRecord | undefined>;
  /**
   * Kept releases of a resource on a server except the newest `count` and those that a waiting or running rollback
   * there needs. One whose build the live release runs is neither counted nor listed.
   */
  listSurplus(part: ServerPart, count: number): Promise<readonly ReleaseRecord[]>;
}
