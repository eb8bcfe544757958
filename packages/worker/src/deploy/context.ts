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
  /** How the subject is deployed. */
  readonly kind: DeployedKind<DeploySubject>;
  readonly ref: ReleaseRef;
  /** Resolved shared variables of `envs`, and references without a target. */
  readonly variables: ResolvedEnvs;
  /** Adapters of the target server. */
  readonly adapters: ServerAdapters;
  /** Of the server, for what a full disk is reported with. */
  readonly disk: () => Promise<DiskSpace | undefined>;
  /** Engine of a server that may build it. */
  engineOf(server: ServerRecord): Engine;
  readonly ownsServer: WorkerDeps["ownsServer"];
  readonly stores: SystemStores;
  readonly source: SourceFetcher;
  readonly credentialsFor: WorkerDeps["credentialsFor"];
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly lease: Lease;
  readonly leaseKeeper: LeaseKeeper;
  /** Told when a release is known to be healthy, so that its status need not wait for the next probe. */
  onHealthy(deploymentUuid: string): void;
}

export interface StepContext extends DeployContext {
  /** Fetches the source of a commit, with what its repository asks for: that stands in no line of the log. */
  fetch(commit: string): Promise<Checkout>;
  /** Lines that a tool or an application wrote go here. */
  readonly io: WorkIO;
  /** A line of our own in the deployment's log. */
  say(text: string, stream?: "stdout" | "stderr"): void;
  /** The worker that ran this step went away in its middle. */
  readonly wasInterrupted: boolean;
  /** Somebody cancelled the deployment, and it is being undone. */
  readonly isCancelled: boolean;
  /** Progress that an earlier run of the step saved. */
  readonly saved: Readonly<Record<string, unknown>>;
  /** Keeps how far the step has come. */
  save(progress: Readonly<Record<string, unknown>>): Promise<void>;
}
