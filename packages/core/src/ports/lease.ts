export interface ClaimRequest {
  /** Identity of the worker, unique to each start of a process. */
  readonly owner: string;
  readonly leaseSeconds: number;
  readonly at: Date;
  /** Claims nothing from a team with this many running. Left out: no limit. */
  readonly teamRunsMax?: number;
}

/** A run and the worker that has its lease. Writes of another owner change nothing. */
export interface RunLease {
  readonly uuid: string;
  readonly owner: string;
}

/** A run whose lease was renewed. */
export interface RenewedRun {
  readonly uuid: string;
  /** Its owner has to end it. */
  readonly is_cancel_requested: boolean;
}

export interface RenewableRuns {
  /**
   * Extends the leases of these runs to this long from now, and returns those that the owner still has: not those
   * that ended, were deleted, or have another owner. 0 seconds release them at once.
   */
  renew(owner: string, uuids: readonly string[], leaseSeconds: number): Promise<readonly RenewedRun[]>;
}

/** Runs of one kind that wait on servers and are claimed by one owner each. */
export interface LeasedRuns<Claimed> extends RenewableRuns {
  /** Claims the oldest waiting run on these servers, from the team with the fewest running. */
  claim(serverIds: readonly number[], request: ClaimRequest): Promise<Claimed | undefined>;
}

/** Runs that are never repeated, since the first attempt may have taken effect. */
export interface UnrepeatedRuns<Claimed> extends LeasedRuns<Claimed> {
  /** Ends runs whose lease has expired, and those that no worker can claim. Returns their number. */
  endAbandoned(at: Date): Promise<number>;
}

/** A worker's lease of a deployment. Writes with an older `attempt` change nothing and report that. */
export interface Lease {
  readonly deployment_id: number;
  readonly owner: string;
  readonly attempt: number;
}
