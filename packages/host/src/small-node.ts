/** Flags for programs of Node that need almost no heap. */
export const SMALL_NODE = ["--max-semi-space-size=1", "--max-old-space-size=64"] as const;
