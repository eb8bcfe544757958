/** `512m`, `1.5g`, `1073741824`; `null` for 0 and what is no size: no limit. */
export function memoryBytes(text: string): number | null {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)\s*([bkmgt]?)i?b?$/i.exec(text.trim()) ?? [];
  if (digits === undefined) return null;
  const power = "bkmgt".indexOf((unit || "b").toLowerCase());
  return Math.floor(Number(digits) * 1024 ** power) || null;
}
