/** Where long work writes its output, and how it is cancelled. */
export interface WorkIO {
  readonly signal: AbortSignal;
  /** A line without its line end. The receiver redacts secrets. */
  onLine(line: string, stream: "stdout" | "stderr"): void;
}
