import type { Artifact } from "../deploy/artifact.ts";

/** A build of an application on its server: the running one, or one for rollbacks. */
export interface KeptBuild {
  /** Uuid of the deployment that built it. */
  readonly built_by: string;
  readonly artifact: Artifact;
  readonly is_current: boolean;
  readonly commit: string;
  readonly commit_message: string | null;
  /** Creation time of that deployment. */
  readonly created_at: Date;
}
