/** Only these keys, as far as they are given: a caller's object may carry more, e.g. another record's id. */
export function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  const entries = keys.filter((key) => from[key] !== undefined).map((key) => [key, from[key]] as const);
  // The keys are K's; one that is left out is optional in T.
  return Object.fromEntries(entries) as Pick<T, K>;
}
