/** Records of runs as they change: jobs, backups, restores and drills. */
export interface RunStore {
  /**
   * What `read` finds, now and again each time that the run was written or a while has passed, until it finds nothing
   * or `signal` fires. No write between two reads is missed.
   */
  readings<Run>(uuid: string, read: () => Promise<Run | undefined>, signal: AbortSignal): AsyncIterable<Run>;
}
