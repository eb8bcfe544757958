/** HTTP status of the engine's answer; `undefined` without an answer. */
export function statusCodeOf(error: unknown): number | undefined {
  const code = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  return typeof code === "number" ? code : undefined;
}

/** The engine's own message, without the library's prefix. */
export function reasonOf(error: Error): string {
  const json = "json" in error && typeof error.json === "object" && error.json !== null ? error.json : {};
  return "message" in json && typeof json.message === "string" ? json.message : error.message;
}
