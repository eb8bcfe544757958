/** Number of files written concurrently, since each write over SSH waits for its answer. */
export const WRITES_AT_ONCE = 16;
