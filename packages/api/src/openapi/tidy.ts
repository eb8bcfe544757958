/**
 * The document without unneeded parts of schemas: limits that every JSON number has, the type of names, long patterns
 * besides a format.
 */
export function tidy<T>(node: T): T {
  if (Array.isArray(node)) return node.map(tidy) as T;
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node)
    .filter(([key, value]) => value !== undefined && !isNoise(key, value, node))
    .map(([key, value]) => [key, tidy(value)]);
  // Has the same keys except removed ones, which are optional everywhere.
  return Object.fromEntries(entries) as T;
}

function isNoise(key: string, value: unknown, node: object): boolean {
  if (key === "minimum") return value === Number.MIN_SAFE_INTEGER;
  if (key === "maximum") return value === Number.MAX_SAFE_INTEGER;
  if (key === "propertyNames") return JSON.stringify(value) === '{"type":"string"}';
  return key === "pattern" && "format" in node && "type" in node;
}
