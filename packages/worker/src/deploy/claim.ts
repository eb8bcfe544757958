import type { DeploymentRecord, Lease } from "@berth/core/ports";
import type { WorkerDeps } from "../ports.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";
import type { DeployStep } from "./progress.ts";
import type { DeploymentEnd } from "./run.ts";

/** A deployment that this worker holds the lease of. */
export interface Claim {
  readonly lease: Lease;
  readonly deployment: DeploymentRecord;
}

export interface DeploymentDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly adaptersOf: (server: ServerAdapters["server"]) => ServerAdapters;
  onHealthy(deploymentUuid: string): void;
  /** The product's pipeline unless a test brings its own. */
  readonly steps?: readonly DeployStep[] | undefined;
}

/** `left`: the next worker that claims it continues. */
export type DeploymentOutcome = DeploymentEnd | "left";
