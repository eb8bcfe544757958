import type { Readable, Writable } from "node:stream";

/** Environment of a command line run, replaced in tests. */
export interface System {
  readonly stdin: Readable & { readonly isTTY?: boolean; setRawMode?(isRaw: boolean): unknown };
  readonly stdout: Screen;
  readonly stderr: Screen;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly homeFolder: string;
  readonly isRoot: boolean;
  /** Calls back on every Ctrl-C instead of ending the process, until the returned function is called. */
  onInterrupt(callback: () => void): () => void;
}

export type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
