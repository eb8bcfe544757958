import type { Site } from "@berth/core/ports";

/** File in the proxy's folder. The control plane writes it before it sends a change; a starting proxy reads it. */
export const TABLE_FILE = "table.json";

/** A line of the file, as JSON. The first has all sites; each of the others changes one of those before. */
export type TableChange = { readonly sites: readonly Site[] } | { readonly put: Site } | { readonly delete: string };

export const lineOf = (change: TableChange): string => `${JSON.stringify(change)}\n`;

export function applyChange(sites: Map<string, Site>, change: TableChange): void {
  if ("put" in change) sites.set(change.put.id, change.put);
  else if ("delete" in change) sites.delete(change.delete);
  else {
    sites.clear();
    for (const site of change.sites) sites.set(site.id, site);
  }
}

/**
 * The sites of a file. A last line that a crash has cut is ignored: its change was never sent.
 * @throws SyntaxError when another line is damaged.
 */
export function sitesOfFile(text: string): Map<string, Site> {
  const [first = "", ...others] = text.split("\n");
  // What follows the last line break is empty, or a line that is not whole.
  const lines = [first, ...others.slice(0, -1)];
  const sites = new Map<string, Site>();
  // Only `SavedTable` writes the file, in a folder that only we can enter.
  for (const line of lines) applyChange(sites, JSON.parse(line) as TableChange);
  return sites;
}
