export function sourcePosition(
  map: { readonly mappings: string; readonly sources: readonly string[] },
  line: number,
  column: number,
): { readonly source: string; readonly line: number; readonly column: number } | undefined;
