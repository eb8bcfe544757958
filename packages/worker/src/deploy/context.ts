import type { DeployedKind, DeployInput, DeploySubject, ReleaseRef } from "@berth/core/deploy";
import type { ResolvedEnvs } from "@berth/core/env";
import type { Checkout, Clock, Engine, ServerRecord, SourceFetcher, SystemStores, WorkIO } from "@berth/core/ports";
import type { WorkerDeps } from "../ports.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";

/** What every step works with. */
export interface DeployContext extends DeployInput {
  /** How the subject is deployed. */
  readonly kind: DeployedKind<DeploySubject>;
  readonly ref: ReleaseRef;
  /** Of `envs`, what is shared and what leads to nothing. */
  readonly variables: ResolvedEnvs;
  /** Of the server that it goes to. */
  readonly adapters: ServerAdapters;
  /** Of a server that it may be built on. */
  engineOf(server: ServerRecord): Engine;
  readonly ownsServer: WorkerDeps["ownsServer"];
  readonly stores: SystemStores;
  readonly source: SourceFetcher;
  readonly credentialsFor: WorkerDeps["credentialsFor"];
  readonly clock: Clock;
  readonly settings: WorkerSettings;
  readonly leaseKeeper: LeaseKeeper;
  /** Told when a release is known to be healthy, so that its status need not wait for the next probe. */
  onHealthy(deploymentUuid: string): void;
}

/** What one run of one step works with. */
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
  /** What the step had saved until then. */
  readonly saved: Readonly<Record<string, unknown>>;
  /** Keeps how far the step has come. */
  save(progress: Readonly<Record<string, unknown>>): Promise<void>;
}
