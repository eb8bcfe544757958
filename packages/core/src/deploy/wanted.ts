import type { Site } from "../ports/proxy.ts";
import type { ReleaseRole } from "../ports/records.ts";
import type { DesiredState } from "../resource/resource.ts";
import type { Health } from "./container-state.ts";
import type { ReleaseState, Upstream } from "./release.ts";
import type { SiteSubject } from "./site.ts";

/** Recorded state of one server. */
export interface Wanted {
  readonly resources: readonly WantedResource[];
  /** Uuids of the deployments that are queued or in progress: what they are making is theirs. */
  readonly activeDeployments: ReadonlySet<string>;
}

export interface WantedResource {
  readonly id: number;
  readonly uuid: string;
  readonly status: string;
  readonly desiredState: DesiredState;
  readonly isRemoving: boolean;
  readonly restartCount: number;
  /** How often it may restart in a row; 0 or left out: as often as it likes. */
  readonly restartCountMax?: number | undefined;
  readonly releases: readonly WantedRelease[];
  /** Its releases hold ports of the server, so two of them never run at the same time. */
  readonly isAlone: boolean;
  /** A deployment of it is in progress, not of one of its previews. */
  readonly isDeploying: boolean;
  /** Inputs of its sites, one for each container where it has several; empty without URLs. */
  readonly sites: readonly SiteSubject[];
  readonly previews: readonly WantedPreview[];
  /** Of what has never run and is recorded as it is: it can need nothing but these sites. */
  readonly restingSites?: readonly Site[] | undefined;
  /** Containers of a service; `undefined` when the status is that of the release alone. */
  readonly containers?: readonly WantedContainer[] | undefined;
}

/** One container of a service, as it is recorded. */
export interface WantedContainer {
  readonly name: string;
  readonly status: string;
  /** Not counted in the status of the service. */
  readonly isExcluded: boolean;
}

/** One pull request of an application: a live release and a site of its own. It runs until it is removed. */
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
  /** For a retiring release: the deployment that replaced it has not ended yet. */
  readonly isSuccessorActive: boolean;
}

/** Observed state of the same server. It must be read before the records: a release follows its record. */
export interface Observed {
  readonly releases: readonly ReleaseState[];
  /** By the deployment's uuid; what is missing is unknown. */
  readonly health: ReadonlyMap<string, Health>;
  /** The proxy's current sites, by id. */
  readonly sites: ReadonlyMap<string, Site>;
  /** Deployments' uuids whose release failed to start lately and must wait for its next try. */
  readonly backingOff: ReadonlySet<string>;
  /** Deployments' uuids whose container could not be given its lasting name lately. */
  readonly unnamed: ReadonlySet<string>;
  /** How often a release restarted by itself in a row, by its deployment's uuid. */
  readonly restarts: ReadonlyMap<string, number>;
}
