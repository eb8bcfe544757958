/** The entries of a map; empty for any other value. Compose files leave sections empty or write them in other forms. */
export const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
