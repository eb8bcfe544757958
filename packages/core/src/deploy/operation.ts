import type { ResourceKind } from "../resource/resource.ts";
import type { ReleaseRef, Upstream } from "./release.ts";

/** One step of the plan of a server. */
export type Operation =
  | { readonly type: "start"; readonly resourceId: number; readonly release: ReleaseRef; readonly deploymentId: number }
  /** Adds or removes containers of a live release, until it has this number. */
  | {
      readonly type: "scale";
      readonly resourceId: number;
      readonly release: ReleaseRef;
      readonly deploymentId: number;
      readonly replicas: number;
    }
  | { readonly type: "stop"; readonly resourceId: number | null; readonly release: ReleaseRef }
  /** Removes a release without a record, and what was built for it. */
  | { readonly type: "remove"; readonly release: ReleaseRef }
  /** Removes the candidate of an ended deployment, and its record. */
  | { readonly type: "discard"; readonly release: ReleaseRef; readonly deploymentId: number }
  /** Makes a release retire that its resource left behind on this server. */
  | { readonly type: "supersede"; readonly deploymentId: number }
  /** Drains and removes a replaced release, but keeps a build that another release runs. */
  | {
      readonly type: "retire";
      readonly resourceId: number;
      readonly kind: ResourceKind;
      readonly pullRequestId: number;
      readonly release: ReleaseRef;
      readonly deploymentId: number;
      readonly keepsArtifact: boolean;
    }
  | {
      readonly type: "route";
      readonly resourceId: number;
      readonly kind: ResourceKind;
      readonly pullRequestId: number;
    }
  | { readonly type: "unroute"; readonly siteId: string }
  /** Gives its container the lasting name, taking it from another release of the same resource. */
  | {
      readonly type: "take_name";
      readonly resourceId: number;
      readonly release: ReleaseRef;
      readonly deploymentId: number;
    }
  | { readonly type: "set_upstream"; readonly deploymentId: number; readonly upstream: Upstream }
  | {
      readonly type: "set_status";
      readonly resourceId: number;
      readonly status: string;
      /** The status at the time of the plan. Another one was recorded by something that knew more. */
      readonly replaces: string;
      /** Why it cannot run; `null`: it can, or nobody knows. */
      readonly problem: string | null;
    }
  /** Sets the status of a service and of each of its containers, by name. */
  | {
      readonly type: "set_statuses";
      readonly resourceId: number;
      readonly status: string;
      /** As of `set_status`. */
      readonly replaces: string;
      readonly problem: string | null;
      readonly containers: Readonly<Record<string, string>>;
    }
  /** Stops a release that exceeds its restart limit, until somebody asks to start it. */
  | {
      readonly type: "give_up";
      readonly resourceId: number;
      readonly release: ReleaseRef;
      readonly restartCount: number;
      readonly restartCountMax: number;
    }
  | { readonly type: "set_restarts"; readonly resourceId: number; readonly restartCount: number }
  /** Its live release has the number of containers that it should have, after attempts that failed. */
  | { readonly type: "end_scale_problem"; readonly resourceId: number }
  | { readonly type: "remove_resource"; readonly resourceId: number }
  | { readonly type: "set_preview_status"; readonly previewId: number; readonly status: string }
  | { readonly type: "remove_preview"; readonly resourceId: number; readonly pullRequestId: number };
