import type { DeploymentLogLine, DeploymentStep } from "../deploy/deployment.ts";
import type { LiveKey, ServerPart } from "../deploy/live-key.ts";
import type { DeploymentRecord, EnqueueOutcome, NewDeployment, Page, Paging, ReleaseRecord } from "./records.ts";
import type { KeptBuild } from "./rollback.ts";

/** What lists of resources show of the newest deployment of each. */
export type LastDeploymentRecord = Pick<
  DeploymentRecord,
  | "uuid"
  | "resource_id"
  | "status"
  | "error"
  | "commit"
  | "commit_message"
  | "actor"
  | "is_webhook"
  | "created_at"
  | "started_at"
  | "finished_at"
>;

/** What is shown of the newest deployment to each server of an application. */
export type ServerDeploymentRecord = Pick<
  DeploymentRecord,
  "uuid" | "server_id" | "status" | "commit" | "error" | "finished_at" | "follows"
>;

/** What a follower of a deployment is shown. */
export interface DeploymentProgress {
  readonly deployment: DeploymentRecord;
  readonly steps: readonly Omit<DeploymentStep, "output">[];
  readonly lines: readonly DeploymentLogLine[];
}

export interface DeploymentStore {
  /** Queued and running deployments of applications, oldest first. */
  listActive(paging?: Paging): Promise<Page<DeploymentRecord>>;
  /** Newest first. */
  listByResource(
    resourceId: number,
    filter: { readonly pull_request_id?: number | undefined },
    paging?: Paging,
  ): Promise<Page<DeploymentRecord>>;
  /** The newest deployment of each of these resources, without those of previews. */
  newestOf(resourceIds: readonly number[]): Promise<readonly LastDeploymentRecord[]>;
  /** The newest deployment of a resource to each of these servers, among its last thousand, without those of previews. */
  newestOn(resourceId: number, serverIds: readonly number[]): Promise<readonly ServerDeploymentRecord[]>;
  find(uuid: string): Promise<DeploymentRecord | undefined>;
  steps(deploymentId: number): Promise<readonly DeploymentStep[]>;
  /** Lines after `after` (0 for all), by `seq`: the first `take` of them, or the last ones with `last`. */
  log(
    deploymentId: number,
    query: {
      readonly after?: number | undefined;
      readonly take?: number | undefined;
      readonly last?: number | undefined;
    },
  ): Promise<readonly DeploymentLogLine[]>;
  /** With its steps and the first `take` lines of its log after `after`, all read at one moment. */
  progress(
    uuid: string,
    lines: { readonly after: number; readonly take: number },
  ): Promise<DeploymentProgress | undefined>;
  /** Resolves when the deployment may have new log lines or a new status, when `signal` fires, or after a second. */
  changed(deploymentId: number, signal: AbortSignal): Promise<void>;
  /**
   * Counts and inserts under a lock on the server's row, so that the queue limit is exact (D4), and notifies the
   * worker in the same transaction. All or none: the first `full` one reverts the others.
   */
  enqueue(deployments: readonly NewDeployment[]): Promise<readonly EnqueueOutcome[]>;
  /**
   * A queued deployment becomes `cancelled-by-user` at once; one in progress gets `cancel_requested_at`, and its
   * worker ends it. Returns the record afterwards; an ended one is unchanged.
   */
  requestCancel(uuid: string): Promise<DeploymentRecord | undefined>;
}

export interface ReleaseStore {
  live(key: LiveKey): Promise<ReleaseRecord | undefined>;
  /** The newest candidate of a deployment of the resource, or of this preview, to this server. */
  candidate(key: LiveKey): Promise<ReleaseRecord | undefined>;
  /**
   * Builds of the resource on this server, without previews: the running one first, then the newest. One that was just
   * replaced is among them if it will be kept.
   */
  builds(part: ServerPart): Promise<readonly KeptBuild[]>;
}
