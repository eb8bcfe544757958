/** Only these keys, if present: a caller's object may have others, e.g. the id of another record. */
export function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]] as const);
  // The keys are K's; a missing one is optional in T.
  return Object.fromEntries(entries) as Pick<T, K>;
}
