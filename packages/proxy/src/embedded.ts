import { createHash } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DomainError } from "@berth/core";
import type { Proxy as ProxyPort, Site } from "@berth/core/ports";
import { type HostUser, isRoot } from "@berth/host";
import { openInstances, proxyProgram } from "./instances.ts";
import type { ControlRequests, ProxyConfig, ProxyLimits, ProxyStatus } from "./protocol.ts";
import { publicUrl } from "./public-url.ts";
import { SavedTable } from "./saved-table.ts";
import { type Liveness, supervise } from "./supervisor.ts";
import { TABLE_FILE, type TableChange } from "./table-file.ts";

export interface EmbeddedProxyOptions {
  /** Absolute path, created when missing. Contains the routes with their passwords, and the control sockets. */
  readonly folder: string;
  /** The address to listen on, such as `0.0.0.0`, `::` or `127.0.0.1`. */
  readonly host: string;
  /** 0: any free port, which stays the same while the process or this control plane runs. */
  readonly port: number;
  /** Node 24 or newer. */
  readonly nodePath: string;
  /** User to switch to after listening, if started by root, so that ports below 1024 can be used. */
  readonly user?: HostUser | undefined;
  /** Addresses and ranges of proxies in front of this one, whose `X-Forwarded-*` headers are trusted. */
  readonly trustedProxies?: readonly string[] | undefined;
  readonly limits?: Partial<ProxyLimits> | undefined;
  /** The process is killed and restarted after 2 missed answers in a row. Default: asked every 10 s, 5 s to answer. */
  readonly liveness?: Partial<Liveness> | undefined;
  /** Receives a sentence when the process was started or adopted, has ended, or cannot be started. */
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface EmbeddedProxy extends ProxyPort {
  /** Port on which it listens. */
  readonly port: number;
  /** Address at which this machine reaches it. */
  readonly localHost: string;
  /** Its sites as they were told last. */
  sites(): readonly Site[];
  status(): Promise<ProxyStatus>;
  /** Ends the supervision; the process continues to serve unless `stopProxy`. Idempotent. */
  close(options: { readonly stopProxy: boolean }): Promise<void>;
}

export const PROXY_LIMITS: ProxyLimits = {
  headersSeconds: 30,
  stallSeconds: 120, // Twice the time that nginx allows a client between two reads or writes.
  connections: 8192, // All busy they use 300 MB, which fits the heap limit in `instances.ts`.
};

/**
 * Proxy of the process engine: a separate process that serves HTTP on one port. It outlives the control plane, is
 * adopted by the next one, and is restarted with its routes whenever it ends. A process of another version or
 * configuration is replaced: it hands over the port within milliseconds and finishes its requests in flight.
 *
 * It has no TLS, so nothing of it answers at an `https:` URL.
 *
 * @throws DomainError `setup.failed` when the port cannot be opened, or the folder not be written.
 */
export async function embeddedProxy(options: EmbeddedProxyOptions): Promise<EmbeddedProxy> {
  const { folder, onLine = () => {} } = options;
  const table = await readTable(folder);
  /** Whether the process certainly has the sites of the table. */
  let isSent = false;
  const program = proxyProgram(options.nodePath);
  const supervisor = await supervise(openInstances(folder, program), configOf(options, program.version), {
    onLine,
    liveness: options.liveness,
  });

  /** The file is written first, so that a process that restarts meanwhile reads the change. */
  function change<Name extends keyof ControlRequests>(
    name: Name,
    input: ControlRequests[Name],
    changed: TableChange,
  ): Promise<void> {
    return supervisor.exclusive(async () => {
      if (isSent && (await table.has(changed))) {
        // A process that ended is noticed, and one that was started again has read the file.
        await supervisor.ask("stats", undefined);
        return;
      }
      isSent = false;
      await table.save(changed);
      await supervisor.ask(name, input);
      isSent = true;
    });
  }

  const sync = (sites: readonly Site[]) => change("sync", sites, { sites });

  // An earlier control plane may have died after writing the table but before sending it.
  await sync([...table.sites.values()]).catch(async (error: unknown) => {
    await supervisor.close({ stopProxy: false });
    throw error;
  });

  const statuses = () => supervisor.exclusive(() => supervisor.ask("stats", undefined));

  return {
    capabilities: {
      https: false,
      compression: false,
      customHeaders: false,
      // Each release of the process engine has exactly one port.
      upstreamPorts: false,
      requestCounts: true,
      answerCounts: true,
      earlyAnswers: true,
      hidesSession: true,
    },
    port: supervisor.port,
    localHost: LOOPBACK[options.host] ?? options.host,
    sites: () => [...table.sites.values()],
    sync,
    put: (site) => change("put", site, { put: site }),
    delete: (siteId) => change("delete", siteId, { delete: siteId }),
    async inFlight({ host, port }) {
      const all = (await statuses()).flatMap((status) => status.inFlight);
      return all.reduce((sum, one) => (one.host === host && one.port === port ? sum + one.inFlight : sum), 0);
    },
    async answered() {
      const [{ run, answered }] = await statuses();
      return { run, bySite: new Map(answered) };
    },
    publicUrl: (url) => publicUrl(url, supervisor.port),
    async status() {
      const [serving] = await statuses();
      return serving;
    },
    close: (how) => supervisor.close(how),
  };
}

/** A socket on all addresses is reached by the loopback's. */
const LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** Sites of an earlier control plane, so that a change before the first `sync` does not remove them. */
async function readTable(folder: string): Promise<SavedTable> {
  try {
    await mkdir(folder, { recursive: true });
    await chmod(folder, 0o700);
    return await SavedTable.read(join(folder, TABLE_FILE));
  } catch (cause) {
    const message = `The folder ${folder} cannot be used. Give yourself access to it, or choose another with BERTH_DATA.`;
    throw new DomainError("setup.failed", message, { cause });
  }
}

/** The version is a hash of the whole configuration, so that any change replaces the process. */
function configOf(options: EmbeddedProxyOptions, programVersion: string): ProxyConfig {
  const { host, port, trustedProxies = [] } = options;
  const limits = { ...PROXY_LIMITS, ...options.limits };
  const user = isRoot() && options.user !== undefined ? { uid: options.user.uid, gid: options.user.gid } : null;
  const config = { host, port, trustedProxies, limits, user };
  const hash = createHash("sha256").update(JSON.stringify([programVersion, config]));
  return { version: hash.digest("hex").slice(0, 16), ...config };
}
