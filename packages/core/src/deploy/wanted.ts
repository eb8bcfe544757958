import type { Site } from "../ports/proxy.ts";
import type { ReleaseRole } from "../ports/records.ts";
import type { DesiredState, ResourceKind } from "../resource/resource.ts";
import type { Health } from "./container-state.ts";
import type { ReleaseState, Upstream } from "./release.ts";
import type { SiteSubject } from "./site.ts";

/** Recorded state of one server. */
export interface Wanted {
  readonly resources: readonly WantedResource[];
  /** Uuids of queued and running deployments, whose objects must not be removed. */
  readonly activeDeployments: ReadonlySet<string>;
}

export interface WantedResource {
  readonly id: number;
  readonly uuid: string;
  readonly kind: ResourceKind;
  readonly status: string;
  /** Why it could not run when it was last observed. */
  readonly statusProblem?: string | null | undefined;
  readonly desiredState: DesiredState;
  /** Why Berth stopped it by itself. */
  readonly stopReason?: string | null | undefined;
  readonly isRemoving: boolean;
  /** It is on another server now. What it left here is removed once its releases there have replaced it. */
  readonly hasLeft?: boolean | undefined;
  readonly restartCount: number;
  /** Limit of restarts in a row; 0 or left out: unlimited. */
  readonly restartCountMax?: number | undefined;
  readonly releases: readonly WantedRelease[];
  /** Number of containers of its live release; left out: any number. */
  readonly replicas?: number | undefined;
  /** The last attempt to give it that number failed. */
  readonly hasScaleProblem?: boolean | undefined;
  /** Its releases share ports of the server, so two of them never run at the same time. */
  readonly isAlone: boolean;
  /** A deployment of the resource itself is in progress, not of a preview. */
  readonly isDeploying: boolean;
  /** Inputs of its sites, one per container with URLs; empty without URLs. */
  readonly sites: readonly SiteSubject[];
  readonly previews: readonly WantedPreview[];
  /** Sites of a resource that never ran and is stopped: nothing else of it needs a plan. */
  readonly restingSites?: readonly Site[] | undefined;
  /** Containers of a service; `undefined` if the status is that of the release. */
  readonly containers?: readonly WantedContainer[] | undefined;
}

/** The recorded state of one container of a service. */
export interface WantedContainer {
  readonly name: string;
  readonly status: string;
  /** Excluded from the status of the service. */
  readonly isExcluded: boolean;
}

/** A preview of an application: its live release and its site. It runs until it is removed. */
export interface WantedPreview {
  readonly id: number;
  readonly pullRequestId: number;
  readonly status: string;
  readonly isRemoving: boolean;
  readonly sites: readonly SiteSubject[];
}

export interface WantedRelease {
  readonly deploymentId: number;
  readonly deploymentUuid: string;
  readonly pullRequestId: number;
  readonly role: ReleaseRole;
  readonly builtBy: string;
  readonly upstream: Upstream | null;
  /** For a retiring release: the deployment that replaced it is still running. */
  readonly isSuccessorActive: boolean;
  /** For a release that a resource left behind: the resource is live on its own server. */
  readonly isSuperseded?: boolean | undefined;
}

/**
 * Observed state of the same server. It must be read before the records, since a record is written before its release
 * is started.
 */
export interface Observed {
  readonly releases: readonly ReleaseState[];
  /** By uuid of the deployment; a missing one is unknown. */
  readonly health: ReadonlyMap<string, Health>;
  /** The proxy's current sites, by id. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Uuids of deployments whose release failed to start recently and waits for its next try. */
  readonly backingOff: ReadonlySet<string>;
  /** Why the last start of a release failed, by uuid of its deployment. */
  readonly startProblems: ReadonlyMap<string, string>;
  /** Uuids of deployments whose container could not get its lasting name recently. */
  readonly unnamed: ReadonlySet<string>;
  /** Consecutive restarts of a release, by uuid of its deployment. */
  readonly restarts: ReadonlyMap<string, number>;
}
