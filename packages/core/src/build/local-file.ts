/**
 * Whether a value of a manifest is a path or the URL of a file, in any depth.
 * @param keys Keys whose values are paths, whatever they look like
 */
export function namesLocalFile(value: unknown, keys: readonly string[] = []): boolean {
  if (typeof value === "string") return LOCAL.test(value.trim());
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, one]) => keys.includes(key) || namesLocalFile(one, keys));
}

/** Behind `@` is the place of a Python package: `shop @ file:///app/shop`. */
const LOCAL = /^(file|link|portal|workspace|patch|exec):|^[./~]|@\s*(file:|\.{0,2}\/)/;
