import type { DeployedKind, DeployInput, DeploySubject, ReleaseRef } from "@berth/core/deploy";
import type { ResolvedEnvs } from "@berth/core/env";
import type {
  Checkout,
  Clock,
  DiskSpace,
  Engine,
  Lease,
  ServerRecord,
  SourceFetcher,
  SystemStores,
  WorkIO,
} from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { WorkerDeps } from "../ports.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";

export interface DeployContext extends DeployInput {
  /** Rules for deploying this kind of resource. */
  readonly kind: DeployedKind<DeploySubject>;
  readonly ref: ReleaseRef;
  /** Whether no release was live when the deployment was claimed. */
  readonly isFirst: boolean;
  /** Variables with shared ones resolved, and the references that have no target. */
  readonly variables: ResolvedEnvs;
  /** Adapters of the target server. */
  readonly adapters: ServerAdapters;
  /** Disk usage of the server, for the message about a full disk. */
  readonly disk: () => Promise<DiskSpace | undefined>;
  /** Engine of a server on which the deployment may be built. */
  engineOf(server: ServerRecord): Engine;
  readonly ownsServer: WorkerDeps["ownsServer"];
  readonly stores: SystemStores;
  readonly source: SourceFetcher;
  readonly credentialsFor: WorkerDeps["credentialsFor"];
  readonly magic: WorkerDeps["magic"];
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly lease: Lease;
  readonly leaseKeeper: LeaseKeeper;
  /** Called when a release is healthy, so that its status does not wait for the next probe. */
  onHealthy(deploymentUuid: string): void;
}

export interface StepContext extends DeployContext {
  /** Fetches the source of a commit with the repository's credentials, which never appear in the log. */
  fetch(commit: string): Promise<Checkout>;
  /** Receives lines written by tools or the application. */
  readonly io: WorkIO;
  /** The resource has these URLs from now on, in the following steps too. */
  claimed(domains: DeployInput["domains"]): void;
  /** Writes a line of our own to the deployment's log. */
  say(text: string, stream?: "stdout" | "stderr"): void;
  /** Whether an earlier worker stopped during this step. */
  readonly wasInterrupted: boolean;
  /** Whether the deployment was cancelled and is being undone. */
  readonly isCancelled: boolean;
  /** Progress that an earlier run of the step saved. */
  readonly saved: Readonly<Record<string, unknown>>;
  /** Saves the step's progress. */
  save(progress: Readonly<Record<string, unknown>>): Promise<void>;
  /** Adds a write to the transaction that ends the step. Not done if the step fails. */
  saveAtEnd(write: StepWrite): void;
}

/** Writes to the database in a transaction that the lease fences. May be called again if the transaction is repeated. */
export type StepWrite = (stores: SystemStores) => Promise<unknown>;
