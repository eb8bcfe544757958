/**
 * The description without what its schemas say and nobody needs: bounds that every JSON number has, that names are texts,
 * the long patterns behind a format.
 */
export function tidy<T>(node: T): T {
  if (Array.isArray(node)) return node.map(tidy) as T;
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node)
    .filter(([key, value]) => value !== undefined && !isNoise(key, value, node))
    .map(([key, value]) => [key, tidy(value)]);
  // The same keys but for noise, which is nowhere required.
  return Object.fromEntries(entries) as T;
}

function isNoise(key: string, value: unknown, node: object): boolean {
  if (key === "minimum") return value === Number.MIN_SAFE_INTEGER;
  if (key === "maximum") return value === Number.MAX_SAFE_INTEGER;
  if (key === "propertyNames") return JSON.stringify(value) === '{"type":"string"}';
  return key === "pattern" && "format" in node && "type" in node;
}
