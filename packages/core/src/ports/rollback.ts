import type { Artifact } from "../deploy/artifact.ts";

/** A build of an application that lies on its server: what runs, and what can be gone back to. */
export interface KeptBuild {
  /** Uuid of the deployment that built it. */
  readonly built_by: string;
  readonly artifact: Artifact;
  readonly is_current: boolean;
  readonly commit: string;
  readonly commit_message: string | null;
  /** Creation of the deployment that built it. */
  readonly created_at: Date;
}
