import { createHash } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { Proxy as ProxyPort, Site } from "@berth/core/ports";
import { type HostUser, isRoot, readJson, writeJson } from "@berth/host";
import { openInstances, proxyProgram } from "./instances.ts";
import {
  type ControlRequests,
  type ProxyConfig,
  type ProxyLimits,
  type ProxyStatus,
  TABLE_FILE,
  type TableFile,
} from "./protocol.ts";
import { publicUrl } from "./public-url.ts";
import { type Liveness, supervise } from "./supervisor.ts";

export interface EmbeddedProxyOptions {
  /** Absolute; made when missing. Holds the routes, passwords of sites included, and the way to the process. */
  readonly folder: string;
  /** The address to listen on, such as `0.0.0.0`, `::` or `127.0.0.1`. */
  readonly host: string;
  /** 0: any free one, kept while the process or this control plane lives. */
  readonly port: number;
  /** Node 24 or newer. */
  readonly nodePath: string;
  /** User that the process becomes once it listens, if started by root, so that it can use ports below 1024. */
  readonly user?: HostUser | undefined;
  /** Addresses and ranges of proxies before this one: what they say of the client (`X-Forwarded-*`) is believed. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly limits?: Partial<ProxyLimits> | undefined;
  /** It is killed and started again when it misses 2 answers in a row. Default: asked every 10 s, 5 s to answer. */
  readonly liveness?: Partial<Liveness> | undefined;
  /** Told in a sentence when the process was started, adopted, has ended or cannot be started. */
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface EmbeddedProxy extends ProxyPort {
  /** Port that it listens on. */
  readonly port: number;
  status(): Promise<ProxyStatus>;
  /** Idempotent. Ends the supervision; the process continues serving its routes unless `stopProxy`. */
  close(options: { readonly stopProxy: boolean }): Promise<void>;
}

export const PROXY_LIMITS: ProxyLimits = {
  headersSeconds: 30,
  stallSeconds: 120, // Twice what nginx grants a client between two reads or writes.
  connections: 8192, // All busy at once they take 300 MB; the heap that `instances.ts` allows holds them.
};

/**
 * The proxy of the process engine: a process of its own that serves HTTP on one port. It outlives the control plane, is
 * adopted by the next one, and is started again with its routes whenever it ends. A running one of another version or
 * configuration is replaced: it gives up the port to the new one within milliseconds and ends what it has in flight.
 *
 * It has no TLS: `publicUrl` gives `http:` for `https:`.
 *
 * @throws DomainError `setup.failed` when the port cannot be had, or the folder not be written.
 */
export async function embeddedProxy(options: EmbeddedProxyOptions): Promise<EmbeddedProxy> {
  const { folder, onLine = () => {} } = options;
  const tablePath = join(folder, TABLE_FILE);
  let sites = await readSites(folder, tablePath);
  const program = proxyProgram(options.nodePath);
  const supervisor = await supervise(openInstances(folder, program), configOf(options, program.version), {
    onLine,
    liveness: options.liveness,
  });

  /** Into the file first: a process that is started again meanwhile reads it there. */
  function change<Name extends keyof ControlRequests>(
    name: Name,
    input: ControlRequests[Name],
    apply: (sites: Map<string, Site>) => void,
  ): Promise<void> {
    return supervisor.exclusive(async () => {
      const changed = new Map(sites);
      apply(changed);
      await writeSites(tablePath, changed);
      sites = changed;
      await supervisor.ask(name, input);
    });
  }

  function sync(list: readonly Site[]): Promise<void> {
    return change("sync", list, (sites) => {
      sites.clear();
      for (const site of list) sites.set(site.id, site);
    });
  }

  // An earlier control plane may have died between writing the table and telling the process.
  await sync([...sites.values()]).catch(async (error: unknown) => {
    await supervisor.close({ stopProxy: false });
    throw error;
  });

  const statuses = () => supervisor.exclusive(() => supervisor.ask("stats", undefined));

  return {
    capabilities: {
      https: false,
      compression: false,
      customHeaders: false,
      // Every release of the process engine has one port of the machine.
      upstreamPorts: false,
      requestCounts: true,
      hidesSession: true,
    },
    port: supervisor.port,
    sync,
    put: (site) => change("put", site, (sites) => sites.set(site.id, site)),
    delete: (siteId) => change("delete", siteId, (sites) => sites.delete(siteId)),
    async inFlight({ host, port }) {
      const all = (await statuses()).flatMap((status) => status.inFlight);
      return all.reduce((sum, one) => (one.host === host && one.port === port ? sum + one.inFlight : sum), 0);
    },
    publicUrl: (url) => publicUrl(url, supervisor.port),
    async status() {
      const [serving] = await statuses();
      return serving;
    },
    close: (how) => supervisor.close(how),
  };
}

/** Sites of an earlier control plane, so that a change before the first `sync` removes none. */
async function readSites(folder: string, tablePath: string): Promise<ReadonlyMap<string, Site>> {
  try {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o700);
    const table = await readJson<TableFile>(tablePath);
    return new Map(table?.sites.map((site) => [site.id, site]));
  } catch (cause) {
    const message = `The folder ${folder} cannot be used. Give yourself access to it, or choose another with BERTH_DATA.`;
    throw new DomainError("setup.failed", message, { cause });
  }
}

async function writeSites(tablePath: string, sites: ReadonlyMap<string, Site>): Promise<void> {
  try {
    await writeJson(tablePath, { sites: [...sites.values()] } satisfies TableFile);
  } catch (cause) {
    const message = `The routes cannot be saved in ${tablePath}. Is the disk full? Make room and try again.`;
    throw new DomainError("engine.failed", message, { cause });
  }
}

/** The version covers the whole configuration, so that a change of any part replaces the process. */
function configOf(options: EmbeddedProxyOptions, programVersion: string): ProxyConfig {
  const { host, port, trustedProxies = [] } = options;
  const limits = { ...PROXY_LIMITS, ...options.limits };
  const user = isRoot() && options.user !== undefined ? { uid: options.user.uid, gid: options.user.gid } : null;
  const config = { host, port, trustedProxies, limits, user };
  const hash = createHash("sha256").update(JSON.stringify([programVersion, config]));
  return { version: hash.digest("hex").slice(0, 16), ...config };
}
