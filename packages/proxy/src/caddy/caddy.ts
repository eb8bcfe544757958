import { createHash } from "node:crypto";
import { join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type { ManagedProxy, ProxyCapabilities, Site } from "@berth/core/ports";
import pLimit from "p-limit";
import { proxyContainer } from "../server/container.ts";
import { ownCertificates } from "../server/own-certificates.ts";
import { passwordHasher } from "../server/password-hash.ts";
import { proxyPaths } from "../server/paths.ts";
import { type OwnCertificate, publicUrlOf, type RoutedSite } from "../server/routed-site.ts";
import { proxySettings, type ServerProxyOptions } from "../server/settings.ts";
import { siteFiles } from "../server/site-files.ts";
import { WRITES_AT_ONCE } from "../server/writes.ts";
import { type CaddyAdmin, caddyAdmin } from "./admin.ts";
import { caddyConfig } from "./config.ts";
import { CADDY_PATHS } from "./paths.ts";
import { addressOf, slotContents } from "./site-handlers.ts";

const CAPABILITIES: ProxyCapabilities = {
  https: true,
  compression: true,
  customHeaders: true,
  upstreamPorts: true,
  requestCounts: true,
  hidesSession: true,
};

/**
 * Caddy in a container of the server. Upstream addresses are in files, the sites' slots, which Caddy reads for each
 * request: a switch replaces a file and interrupts no connection. Only changed routes need a reload.
 */
export function caddyProxy(options: ServerProxyOptions): ManagedProxy {
  const { host, folder, instance, image = "caddy:2" } = options;
  const settings = proxySettings(options);
  const paths = proxyPaths(folder);
  const slotsFolder = join(paths.run, "slots");
  const versionPath = join(paths.config, "version");
  const container = proxyContainer({ server: host.name, ...options });
  const admin = caddyAdmin(host, join(paths.run, "admin.sock"));
  const files = siteFiles(host, paths.sites);
  const hashPassword = passwordHasher(instance);
  const inTurn = pLimit(1);

  let recorded: ReadonlyMap<string, RoutedSite> | undefined;
  let certificates: readonly OwnCertificate[] = [];
  /** The configuration that Caddy certainly has loaded. */
  let loaded: string | undefined;
  let switchedMs = 0;

  /** Sorted, so that every control plane generates the same configuration for the same sites. */
  const configOf = (sites: ReadonlyMap<string, RoutedSite>) => {
    const ordered = [...sites.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    return JSON.stringify(caddyConfig({ sites: ordered, settings, certificates }));
  };

  const saveConfig = (config: string) => host.files.write(join(paths.config, "caddy.json"), config);

  async function known(): Promise<ReadonlyMap<string, RoutedSite>> {
    if (recorded === undefined) {
      for (const path of [paths.config, paths.data, paths.certificates, slotsFolder]) await host.files.makeFolder(path);
      certificates = await ownCertificates(host, paths.certificates);
      if (settings.tls.acmeRoot) await host.files.write(join(paths.config, "acme-root.pem"), settings.tls.acmeRoot);
      recorded = await files.readAll();
    }
    return recorded;
  }

  async function routed(site: Site, before: RoutedSite | undefined): Promise<RoutedSite> {
    const { basicAuth: _plain, ...rest } = site;
    const basicAuth = await hashPassword(site);
    const slotCount = Math.max(1, before?.slotCount ?? 1, site.upstreams.length);
    return { ...rest, ...(basicAuth !== undefined && { basicAuth }), slotCount };
  }

  /** Writes slots before any route refers to them. */
  async function fillSlots(wanted: ReadonlyMap<string, string>): Promise<void> {
    await pLimit(WRITES_AT_ONCE).map([...wanted], ([name, content]) =>
      host.files.write(join(slotsFolder, name), content, { mode: 0o644 }),
    );
    switchedMs = performance.now();
  }

  async function dropSlots(names: Iterable<string>): Promise<void> {
    await pLimit(WRITES_AT_ONCE).map([...names], (name) => host.files.remove(join(slotsFolder, name)));
  }

  async function isStopped(error: unknown): Promise<boolean> {
    if (!isDomainError(error) || error.code !== "engine.unreachable") return false;
    const { state } = await container.status("CADDY");
    return state === "absent" || state === "exited";
  }

  /** A stopped proxy has no requests in flight. */
  async function counts(): Promise<ReadonlyMap<string, number>> {
    try {
      return await admin.requestCounts();
    } catch (error) {
      if (await isStopped(error)) return new Map();
      throw error;
    }
  }

  /** Skipped for a stopped proxy, which reads its configuration from the files at its start. */
  async function load(config: string): Promise<void> {
    if (config === loaded) return;
    loaded = undefined;
    try {
      await admin.load(config);
    } catch (error) {
      if (await isStopped(error)) return;
      throw error;
    }
    await saveConfig(config);
    await host.files.write(versionPath, versionOf(config));
    loaded = config;
    await delay(SETTLED_AFTER_MS);
  }

  /** The recorded sites, whichever control plane wrote them. */
  async function current(): Promise<ReadonlyMap<string, RoutedSite>> {
    const version = await host.files.read(versionPath);
    if (loaded === undefined || version?.toString() !== versionOf(loaded)) {
      recorded = undefined;
      loaded = undefined;
    }
    return known();
  }

  /** Another control plane may change a site between our read and our write, so the last writer reads again. */
  async function settle(): Promise<void> {
    for (let attempt = 1; attempt <= SETTLE_ATTEMPTS_MAX; attempt++) {
      const sites = await files.readAll();
      const config = configOf(sites);
      await load(config);
      recorded = sites;
      if (configOf(await files.readAll()) === config) return;
    }
  }

  async function put(site: Site): Promise<void> {
    const before = await current();
    const previous = before.get(site.id);
    const next = await routed(site, previous);
    const sites = new Map(before).set(site.id, next);
    const wanted = slotContents(next);
    await files.write(next);
    try {
      await fillSlots(wanted);
      if (configOf(sites) !== loaded) await settle();
      else recorded = sites;
    } catch (error) {
      if (isRefusal(error)) await (previous === undefined ? files.remove(site.id) : files.write(previous));
      throw error;
    }
    if (previous !== undefined) await dropSlots([...slotContents(previous).keys()].filter((name) => !wanted.has(name)));
  }

  async function remove(siteId: string): Promise<void> {
    const previous = (await current()).get(siteId);
    if (previous === undefined) return;
    await files.remove(siteId);
    await settle();
    await dropSlots(slotContents(previous).keys());
  }

  async function sync(list: readonly Site[]): Promise<void> {
    const before = await known();
    certificates = await ownCertificates(host, paths.certificates);
    const sites = new Map<string, RoutedSite>();
    for (const site of list) sites.set(site.id, await routed(site, before.get(site.id)));
    const wanted = new Map([...sites.values()].flatMap((site) => [...slotContents(site)]));
    await fillSlots(wanted);
    // Another control plane may have changed the configuration, so it is loaded again; Caddy ignores unchanged ones.
    loaded = undefined;
    await load(configOf(sites));
    await pLimit(WRITES_AT_ONCE).map([...sites.values()], (site) => files.write(site));
    await files.removeOthers(sites.values());
    recorded = sites;
    await dropSlots((await host.files.list(slotsFolder)).filter((name) => !wanted.has(name) && !name.startsWith(".")));
  }

  async function ensure(): Promise<void> {
    if (Buffer.byteLength(join(paths.run, "admin.sock")) > SOCKET_PATH_BYTES_MAX) {
      throw new DomainError("setup.failed", `The folder ${folder} is too long a path for a socket. Choose another.`);
    }
    recorded = undefined;
    const sites = await known();
    const config = configOf(sites);
    const { state } = await container.status("CADDY");
    const wanted = [...sites.values()].flatMap((site) => [...slotContents(site)]);
    // While the proxy runs, an existing slot may be newer than the record that was read.
    const present = new Set(state === "running" ? await host.files.list(slotsFolder) : []);
    await fillSlots(new Map(wanted.filter(([name]) => !present.has(name))));
    const hasConfig = (await host.files.read(join(paths.config, "caddy.json"))) !== undefined;
    if (state !== "running" || !hasConfig) await saveConfig(config);
    const isStarted = await container.ensure({
      type: "CADDY",
      image,
      command: ["caddy", "run", "--config", CADDY_PATHS.config],
      env: { XDG_CONFIG_HOME: CADDY_PATHS.data, XDG_DATA_HOME: CADDY_PATHS.data, HOME: CADDY_PATHS.data },
      mounts: [
        { source: paths.run, target: CADDY_PATHS.run, isReadOnly: false },
        { source: paths.data, target: CADDY_PATHS.data, isReadOnly: false },
        { source: paths.config, target: CADDY_PATHS.configFolder, isReadOnly: true },
        { source: paths.certificates, target: CADDY_PATHS.certificates, isReadOnly: true },
      ],
    });
    await untilUp(host.name, admin, container);
    if (isStarted) {
      const problem = versionProblem(host.name, await container.output(["caddy", "version"]));
      if (problem !== undefined) {
        await container.remove();
        throw problem;
      }
    }
    loaded = undefined;
    await load(config);
  }

  return {
    type: "CADDY",
    capabilities: CAPABILITIES,
    sync: (sites) => inTurn(() => sync(sites)),
    put: (site) => inTurn(() => put(site)),
    delete: (siteId) => inTurn(() => remove(siteId)),
    async inFlight(upstream) {
      // Caddy counts a request shortly after reading its slot, so wait before counting.
      await delay(Math.max(0, switchedMs + COUNTED_AFTER_MS - performance.now()));
      return countOf(await counts(), upstream);
    },
    publicUrl: (url) => publicUrlOf(url, settings),
    ensure: () => inTurn(ensure),
    stop: () =>
      inTurn(async () => {
        loaded = undefined;
        await container.remove();
      }),
    status: () => container.status("CADDY"),
  };
}

const COUNTED_AFTER_MS = 50;
/** The listener of the old routes stays open briefly, and closing it interrupts new connections. */
const SETTLED_AFTER_MS = 100;
const START_SECONDS_MAX = 20;
const SOCKET_PATH_BYTES_MAX = 107; // Limit of Linux.
const SETTLE_ATTEMPTS_MAX = 5;

const versionOf = (config: string) => createHash("sha256").update(config).digest("hex");

const isRefusal = (error: unknown) => isDomainError(error) && error.code === "engine.failed";

/** A container has its own address, so requests to its other ports count too. The machine's address is shared. */
function countOf(counts: ReadonlyMap<string, number>, { host, port }: Upstream): number {
  const exact = addressOf({ host, port });
  const isShared = host === "localhost" || host === "::1" || host.startsWith("127.");
  const prefix = exact.slice(0, -String(port).length);
  let sum = 0;
  for (const [address, count] of counts) {
    if (address === exact || (!isShared && address.startsWith(prefix))) sum += count;
  }
  return sum;
}

async function untilUp(server: string, admin: CaddyAdmin, container: ReturnType<typeof proxyContainer>) {
  const deadline = performance.now() + START_SECONDS_MAX * 1000;
  while (!(await admin.isUp())) {
    const { state } = await container.status("CADDY");
    if (state !== "running" || performance.now() > deadline) {
      const message = `The proxy of server ${server} does not start: ${lastError(await container.lastLines())}`;
      throw new DomainError("setup.failed", message);
    }
    await delay(50);
  }
}

/** Caddy logs JSON lines, but prints a fatal error last and as plain text. */
function lastError(lines: string): string {
  const said = lines.split("\n").filter((line) => line.trim() !== "");
  const line = said.findLast((text) => text.startsWith("Error: ")) ?? said.at(-1) ?? "it said nothing.";
  return line.replace(/^Error: /, "").slice(0, 500);
}

/** Older versions neither read slots nor count by address, so releases would end with requests in flight. */
function versionProblem(server: string, output: string): DomainError | undefined {
  const [, major = "0", minor = "0"] = /v?(\d+)\.(\d+)\.\d+/.exec(output) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 11)) return undefined;
  const found = output.trim().slice(0, 40);
  const message = `The proxy of server ${server} needs Caddy 2.11 or newer, its image has ${found}. Pull a newer image there.`;
  return new DomainError("setup.failed", message);
}
