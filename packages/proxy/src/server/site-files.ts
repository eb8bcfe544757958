import { join } from "node:path/posix";
import type { Host } from "@berth/host";
import { fileNameOf, type RoutedSite, RoutedSiteFile } from "./routed-site.ts";

/**
 * The sites of a server's proxy, one file each. They survive when this control plane, the container or the type of
 * proxy is replaced.
 */
export interface SiteFiles {
  readAll(): Promise<ReadonlyMap<string, RoutedSite>>;
  write(site: RoutedSite): Promise<void>;
  remove(siteId: string): Promise<void>;
  /** Removes the files of all other sites. */
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

/** An invalid file counts as missing: the next `sync` writes it again. */
async function readSite(host: Host, path: string): Promise<RoutedSite | undefined> {
  const content = await host.files.read(path);
  if (content === undefined) return undefined;
  try {
    return RoutedSiteFile.parse(JSON.parse(content.toString()));
  } catch {
    return undefined;
  }
}
