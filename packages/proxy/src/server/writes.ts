/** Files that are written at once: a server over SSH answers each in its own time. */
export const WRITES_AT_ONCE = 16;
