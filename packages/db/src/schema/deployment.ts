import type { Artifact, DeploymentStatus, StepName, StepStatus, Upstream } from "@berth/core/deploy";
import type { ReleaseRole } from "@berth/core/ports";
import type { JobStatus, JobStep, JobSubjectType, JobType } from "@berth/core/server";
import type { EventActor } from "@berth/core/team";
import type { Generated } from "kysely";
import type { Json, NullableJson, Timestamps } from "./column.ts";

export interface DeploymentTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  resource_id: number;
  /** Copied when it was queued, so that lists need no join. */
  resource_uuid: string;
  resource_name: string;
  server_id: number;
  destination_id: number;
  status: Generated<DeploymentStatus>;
  pull_request_id: number;
  commit: string;
  commit_message: string | null;
  force_rebuild: boolean;
  restart_only: boolean;
  keeps_unchanged: Generated<boolean>;
  rollback: boolean;
  is_webhook: boolean;
  is_api: boolean;
  is_instant: boolean;
  git_type: string | null;
  /** As in the event of its queueing, which is forgotten earlier. */
  actor: NullableJson<EventActor>;
  rollback_to: string | null;
  /** Uuid of the deployment to the first server, for one to another server of the same request. */
  follows: string | null;
  build_server_id: number | null;
  docker_registry_image_tag: string | null;
  cancel_requested_at: Date | null;
  error: string | null;
  started_at: Date | null;
  finished_at: Date | null;
  attempt: Generated<number>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  /** `seq` of the newest log line. */
  log_seq: Generated<number>;
}

/** Kept by triggers, like `resource_count`. */
export interface DeploymentCountTable {
  resource_id: number;
  pull_request_id: number;
  total: number;
}

export interface DeploymentStepTable {
  deployment_id: number;
  name: StepName;
  status: StepStatus;
  started_at: Date | null;
  finished_at: Date | null;
  output: NullableJson<Readonly<Record<string, unknown>>>;
  error: string | null;
  error_code: string | null;
}

export interface DeploymentLogTable {
  deployment_id: number;
  seq: number;
  step: StepName | null;
  type: "stdout" | "stderr";
  output: string;
  hidden: boolean;
  timestamp: Date;
}

export interface ReleaseTable extends Timestamps {
  deployment_id: number;
  deployment_uuid: string;
  resource_id: number;
  resource_uuid: string;
  pull_request_id: number;
  server_id: number;
  role: ReleaseRole;
  artifact: Json<Artifact>;
  built_by: string;
  upstream: NullableJson<Upstream>;
  replaced_by_deployment_id: number | null;
}

export interface JobTable extends Timestamps {
  id: Generated<number>;
  uuid: string;
  team_id: number;
  type: JobType;
  subject_type: JobSubjectType;
  subject_id: number;
  subject_uuid: string;
  subject_name: string;
  status: Generated<JobStatus>;
  error: string | null;
  attempts: Generated<number>;
  lease_owner: string | null;
  lease_expires_at: Date | null;
  log: string | null;
  steps: NullableJson<readonly JobStep[]>;
  started_at: Date | null;
  finished_at: Date | null;
}

export interface EventTable {
  id: Generated<number>;
  team_id: number;
  type: string;
  resource_uuid: string | null;
  payload: Json<Readonly<Record<string, unknown>>>;
  actor: NullableJson<EventActor>;
  created_at: Generated<Date>;
}

export interface LeaseTable {
  name: string;
  owner: string;
  expires_at: Date;
}

export interface SettingTable {
  key: string;
  value: Json<unknown>;
}
