import { join } from "node:path/posix";
import type { Host } from "@berth/host";
import { fileNameOf, type RoutedSite, RoutedSiteFile } from "./routed-site.ts";

/**
 * The sites of a server's proxy, a file for each: what a proxy begins with after this control plane, its container or
 * the kind of proxy was replaced.
 */
export interface SiteFiles {
  readAll(): Promise<ReadonlyMap<string, RoutedSite>>;
  write(site: RoutedSite): Promise<void>;
  remove(siteId: string): Promise<void>;
  /** Files of no site. */
  removeOthers(sites: Iterable<RoutedSite>): Promise<void>;
}

export function siteFiles(host: Host, folder: string): SiteFiles {
  const pathOf = (siteId: string) => join(folder, `${fileNameOf(siteId)}.json`);
  return {
    async readAll() {
      await host.files.makeFolder(folder);
      const names = (await host.files.list(folder)).filter((name) => name.endsWith(".json"));
      const sites = await Promise.all(names.sort().map((name) => readSite(host, join(folder, name))));
      return new Map(sites.filter((site) => site !== undefined).map((site) => [site.id, site]));
    },
    write: (site) => host.files.write(pathOf(site.id), `${JSON.stringify(site)}\n`),
    remove: (siteId) => host.files.remove(pathOf(siteId)),
    async removeOthers(sites) {
      const kept = namesOf(sites);
      const others = (await host.files.list(folder)).filter((name) => !kept.has(name));
      for (const name of others) await host.files.remove(join(folder, name));
    },
  };
}

const namesOf = (sites: Iterable<RoutedSite>) => new Set(Array.from(sites, ({ id }) => `${fileNameOf(id)}.json`));

/** A file that says nothing of use is as good as none: the next `sync` writes it anew. */
async function readSite(host: Host, path: string): Promise<RoutedSite | undefined> {
  const content = await host.files.read(path);
  if (content === undefined) return undefined;
  try {
    return RoutedSiteFile.parse(JSON.parse(content.toString()));
  } catch {
    return undefined;
  }
}
