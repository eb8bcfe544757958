import { createHash } from "node:crypto";
import { join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type { ManagedProxy, ProxyCapabilities, Site } from "@berth/core/ports";
import pLimit from "p-limit";
import { confirmedState } from "../server/confirmed-state.ts";
import {
  proxyContainer,
  type Rehearsal,
  type StartedContainer,
  untilServing,
  type WantedProxy,
} from "../server/container.ts";
import { type ProxyContainerSpec, SEATS, type Seat } from "../server/container-options.ts";
import { ownCertificates } from "../server/own-certificates.ts";
import { passwordHasher } from "../server/password-hash.ts";
import { proxyPaths } from "../server/paths.ts";
import { seenStatus } from "../server/probe.ts";
import { rehearsalSettings, rehearsalSites, untilRehearsed } from "../server/rehearsal.ts";
import { type OwnCertificate, publicUrlOf, type RoutedSite } from "../server/routed-site.ts";
import { proxySettings, type ServerProxyOptions } from "../server/settings.ts";
import { siteFiles } from "../server/site-files.ts";
import { WRITES_AT_ONCE } from "../server/writes.ts";
import { caddyAdmin } from "./admin.ts";
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
  const configPath = join(paths.config, "caddy.json");
  const container = proxyContainer({ server: host.name, ...options });
  let seat: Seat | undefined;
  const socketOf = (one: Seat) => join(paths.run, one, "admin.sock");
  const admin = caddyAdmin(host, async (isAnew) => {
    if (isAnew || seat === undefined) seat = await container.seat();
    return socketOf(seat ?? "a");
  });
  const files = siteFiles(host, paths.sites);
  const confirmed = confirmedState(host, paths.config);
  const hashPassword = passwordHasher(instance);
  const inTurn = pLimit(1);

  let recorded: ReadonlyMap<string, RoutedSite> | undefined;
  let certificates: readonly OwnCertificate[] = [];
  /** The configuration that Caddy certainly has loaded. */
  let loaded: string | undefined;
  let switchedMs = 0;
  let isChanging = false;

  /** In one order, so that the same sites are the same configuration for every control plane. */
  const inOrder = (sites: ReadonlyMap<string, RoutedSite>) =>
    [...sites.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const configOf = (sites: ReadonlyMap<string, RoutedSite>) =>
    JSON.stringify(caddyConfig({ sites: inOrder(sites), settings, certificates }));

  const saveConfig = (config: string) => host.files.write(configPath, config);

  async function known(): Promise<ReadonlyMap<string, RoutedSite>> {
    if (recorded === undefined) {
      const seats = SEATS.map((one) => join(paths.run, one));
      for (const path of [paths.config, paths.data, paths.certificates, slotsFolder, ...seats]) {
        await host.files.makeFolder(path);
      }
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

  /** Whether nobody has removed what Caddy reads at its start and for each request. */
  async function hasFiles(config: string, slots: Iterable<string>): Promise<boolean> {
    if ((await host.files.read(configPath))?.toString() !== config) return false;
    const present = new Set(await host.files.list(slotsFolder));
    return [...slots].every((name) => present.has(name));
  }

  async function sync(list: readonly Site[]): Promise<void> {
    const before = await known();
    certificates = await ownCertificates(host, paths.certificates);
    const sites = new Map<string, RoutedSite>();
    for (const site of list) sites.set(site.id, await routed(site, before.get(site.id)));
    const wanted = new Map([...sites.values()].flatMap((site) => [...slotContents(site)]));
    const config = configOf(sites);
    const run = await container.run();
    const state = JSON.stringify([config, [...wanted], run]);
    // A Caddy that was started again may have read an older file.
    const isLoaded = run !== undefined && (await confirmed.isCurrent(state));
    if (isLoaded && (await hasFiles(config, wanted.keys()))) return;
    await confirmed.confirming(state, async () => {
      await fillSlots(wanted);
      // Another control plane may have changed the configuration, so it is loaded again; Caddy ignores unchanged ones.
      loaded = undefined;
      await load(config);
      await pLimit(WRITES_AT_ONCE).map([...sites.values()], (site) => files.write(site));
      await files.removeOthers(sites.values());
      recorded = sites;
      const others = (await host.files.list(slotsFolder)).filter((name) => !wanted.has(name) && !name.startsWith("."));
      await dropSlots(others);
    });
  }

  function specFor(one: Seat): ProxyContainerSpec {
    return {
      type: "CADDY",
      image,
      command: ["caddy", "run", "--config", CADDY_PATHS.config],
      env: { XDG_CONFIG_HOME: CADDY_PATHS.data, XDG_DATA_HOME: CADDY_PATHS.data, HOME: CADDY_PATHS.data },
      mounts: [
        { source: paths.run, target: CADDY_PATHS.run, isReadOnly: false },
        { source: join(paths.run, one), target: CADDY_PATHS.admin, isReadOnly: false },
        { source: paths.data, target: CADDY_PATHS.data, isReadOnly: false },
        { source: paths.config, target: CADDY_PATHS.configFolder, isReadOnly: true },
        { source: paths.certificates, target: CADDY_PATHS.certificates, isReadOnly: true },
      ],
    };
  }

  async function rehearsal(known: ReadonlyMap<string, RoutedSite>): Promise<Rehearsal> {
    const spec = specFor("a");
    const sites = rehearsalSites(inOrder(known));
    const config = caddyConfig({ sites, settings: rehearsalSettings(settings), certificates });
    await host.files.makeFolder(paths.rehearsal);
    await host.files.write(join(paths.rehearsal, "caddy.json"), JSON.stringify(config));
    const mounts = spec.mounts.map((mount) =>
      mount.target === CADDY_PATHS.configFolder ? { ...mount, source: paths.rehearsal } : mount,
    );
    return {
      spec: { ...spec, mounts },
      async check(container, address) {
        await untilRehearsed(host, container, { host: address, port: settings.httpPort }, sites);
        await requireVersion(host.name, container);
      },
    };
  }

  async function ensure(isAnew: boolean): Promise<void> {
    if (Buffer.byteLength(socketOf("a")) > SOCKET_PATH_BYTES_MAX) {
      throw new DomainError("setup.failed", `The folder ${folder} is too long a path for a socket. Choose another.`);
    }
    recorded = undefined;
    const sites = await known();
    const config = configOf(sites);
    const { type, state } = await container.status("CADDY");
    const wanted = [...sites.values()].flatMap((site) => [...slotContents(site)]);
    // While the proxy runs, a slot may be newer than the record that was read.
    const present = new Set(type === "CADDY" && state === "running" ? await host.files.list(slotsFolder) : []);
    await fillSlots(new Map(wanted.filter(([name]) => !present.has(name))));
    let serving: StartedContainer | undefined;
    const proxy: WantedProxy = {
      specFor,
      rehearsal: () => rehearsal(sites),
      prepare: () => saveConfig(config),
      async untilServing(one) {
        const { isUp } = caddyAdmin(host, async () => socketOf(one.seat));
        // It answers before it listens, and ends when it cannot.
        const hasStarted = async () => (await isUp()) && (await delay(CONFIRMED_AFTER_MS, true)) && (await isUp());
        await untilServing(host.name, one, hasStarted);
        serving = one;
      },
    };
    const isStarted = await container.ensure(proxy, { isAnew });
    seat = serving?.seat;
    if (isStarted && serving !== undefined) {
      await requireVersion(host.name, serving).catch(async (error: unknown) => {
        await container.remove();
        throw error;
      });
    }
    loaded = undefined;
    try {
      await load(config);
    } catch (error) {
      const started: StartedContainer | undefined = serving;
      if (started === undefined || !isDomainError(error, "engine.unreachable")) throw error;
      // On a busy machine it takes longer to see that it cannot listen: this says why it ended.
      const { isUp } = caddyAdmin(host, async () => socketOf(started.seat));
      await untilServing(host.name, started, isUp);
      await load(config);
    }
  }

  /** Requests on a proxy that leaves are counted by nobody. */
  async function ensureCounted(isAnew: boolean): Promise<void> {
    isChanging = true;
    try {
      await ensure(isAnew);
    } finally {
      isChanging = false;
    }
  }

  return {
    type: "CADDY",
    capabilities: CAPABILITIES,
    sync: (sites) => inTurn(() => sync(sites)),
    put: (site) => inTurn(() => confirmed.changing(() => put(site))),
    delete: (siteId) => inTurn(() => confirmed.changing(() => remove(siteId))),
    async inFlight(upstream) {
      if (isChanging) return 1;
      // A request that read the slot just before the switch is counted by now.
      await delay(Math.max(0, switchedMs + COUNTED_AFTER_MS - performance.now()));
      return countOf(await counts(), upstream);
    },
    publicUrl: (url) => publicUrlOf(url, settings),
    ensure: ({ isAnew = false } = {}) => inTurn(() => ensureCounted(isAnew)),
    stop: () =>
      inTurn(async () => {
        loaded = undefined;
        await container.remove();
      }),
    status: () => seenStatus(host, settings, container.status("CADDY")),
  };
}

const COUNTED_AFTER_MS = 50;
/** The listener of the old routes stays open briefly, and closing it interrupts new connections. */
const SETTLED_AFTER_MS = 100;
const CONFIRMED_AFTER_MS = 100;
const SOCKET_PATH_BYTES_MAX = 107; // Of Linux.
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

/** Older ones do not read slots, or do not count by address: releases would end under their requests. */
async function requireVersion(server: string, container: StartedContainer): Promise<void> {
  const output = await container.output(["caddy", "version"]);
  const [, major = "0", minor = "0"] = /v?(\d+)\.(\d+)\.\d+/.exec(output) ?? [];
  if (Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 11)) return;
  const found = output.trim().slice(0, 40);
  const message = `The proxy of server ${server} needs Caddy 2.11 or newer, its image has ${found}. Pull a newer image there.`;
  throw new DomainError("setup.failed", message);
}
