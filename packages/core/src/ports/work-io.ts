/** Where a long piece of work writes its lines, and how it learns that it shall stop. */
export interface WorkIO {
  readonly signal: AbortSignal;
  /** One line without its line end. Redaction of secrets is done by the receiver. */
  onLine(line: string, stream: "stdout" | "stderr"): void;
}
