/** HTTP status of the engine's answer; `undefined` without an answer. */
export function statusCodeOf(error: unknown): number | undefined {
  const code = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof code === "number" ? code : undefined;
}

/** What an engine reported in the course of a transfer; any other error of such a report is one of the connection. */
export class ReportedFailure extends Error {
  override name = "ReportedFailure";
}

/** The engine's own message, without the library's prefix. */
export function reasonOf(error: Error): string {
  const json = "json" in error && typeof error.json === "object" && error.json !== null ? error.json : {};
  return "message" in json && typeof json.message === "string" ? json.message : error.message;
}
