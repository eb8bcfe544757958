export interface ClaimRequest {
  /** The worker: another one for each start of a process. */
  readonly owner: string;
  readonly leaseSeconds: number;
  readonly at: Date;
  /** Nothing is taken of a team that has so many running. Left out: no limit. */
  readonly teamRunsMax?: number;
}

/** A run and the worker that holds its lease: what another owner writes changes nothing. */
export interface RunLease {
  readonly uuid: string;
  readonly owner: string;
}

/** A run whose lease its owner still holds. */
export interface RenewedRun {
  readonly uuid: string;
  /** Its owner ends it. */
  readonly is_cancel_requested: boolean;
}

export interface RenewableRuns {
  /**
   * Extends the leases of these runs to so long from now, and answers which of them are still the owner's: not those
   * that have ended, that were deleted, or that another worker holds. With 0 seconds they are free at once.
   */
  renew(owner: string, uuids: readonly string[], leaseSeconds: number): Promise<readonly RenewedRun[]>;
}

/** Runs of one kind that wait on servers, each taken by one owner. */
export interface LeasedRuns<Claimed> extends RenewableRuns {
  /** Takes the oldest that waits on these servers, of the team that has the fewest running. */
  claim(serverIds: readonly number[], request: ClaimRequest): Promise<Claimed | undefined>;
}

/** Runs that are not repeated, since the first attempt may have taken effect. */
export interface UnrepeatedRuns<Claimed> extends LeasedRuns<Claimed> {
  /** Ends those whose owner is gone, and those that nobody can take. Answers how many. */
  endAbandoned(at: Date): Promise<number>;
}
