/** Bytes of `512m`, `1.5g` or `1073741824`; `null`, which means no limit, for 0 and invalid sizes. */
export function memoryBytes(text: string): number | null {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([bkmgt]?)i?b?$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return null;
  const power = "bkmgt".indexOf((unit || "b").toLowerCase());
  return Math.floor(Number(digits) * 1024 ** power) || null;
}
