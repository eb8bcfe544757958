import { join } from "node:path/posix";
import { setTimeout as delay } from "node:timers/promises";
import type { ManagedProxy, ProxyCapabilities, Site } from "@berth/core/ports";
import pLimit from "p-limit";
import { confirmedState } from "../server/confirmed-state.ts";
import { proxyContainer, type Rehearsal, untilServing, type WantedProxy } from "../server/container.ts";
import type { ProxyContainerSpec } from "../server/container-options.ts";
import { ownCertificates } from "../server/own-certificates.ts";
import { passwordHasher } from "../server/password-hash.ts";
import { proxyPaths } from "../server/paths.ts";
import { seenStatus, statusAt } from "../server/probe.ts";
import { rehearsalSettings, rehearsalSites, untilRehearsed } from "../server/rehearsal.ts";
import { type ProxySettings, publicUrlOf, type RoutedSite } from "../server/routed-site.ts";
import { proxySettings, type ServerProxyOptions } from "../server/settings.ts";
import { siteFiles } from "../server/site-files.ts";
import { WRITES_AT_ONCE } from "../server/writes.ts";
import { TRAEFIK_PATHS, traefikCommand, traefikConfig, traefikFile } from "./config.ts";
import { drainClock } from "./drain-clock.ts";

const CAPABILITIES: ProxyCapabilities = {
  https: true,
  compression: true,
  customHeaders: true,
  upstreamPorts: true,
  requestCounts: false,
  answerCounts: false,
  earlyAnswers: false,
  hidesSession: false,
};

/** Traefik in a container of the server, configured by one file that it watches. */
export function traefikProxy(options: ServerProxyOptions): ManagedProxy {
  const { host, folder, instance } = options;
  const settings = proxySettings(options);
  const paths = proxyPaths(folder);
  const container = proxyContainer({ server: host.name, ...options });
  const configPath = join(paths.config, "traefik", FILE);
  const files = siteFiles(host, paths.sites);
  const confirmed = confirmedState(host, paths.config);
  const hashPassword = passwordHasher(instance);
  const drained = drainClock(() => performance.now());
  const inTurn = pLimit(1);
  let hasFolders = false;

  async function makeFolders(): Promise<void> {
    if (hasFolders) return;
    const folders = [join(paths.config, "traefik"), paths.data, paths.certificates];
    await pLimit(WRITES_AT_ONCE).map(folders, (path) => host.files.makeFolder(path));
    const root = settings.tls.acmeRoot;
    if (root) await host.files.write(join(paths.config, "traefik", "acme-root.pem"), root);
    hasFolders = true;
  }

  /** Read each time, since another control plane may have changed it. */
  async function recorded(): Promise<ReadonlyMap<string, RoutedSite>> {
    await makeFolders();
    return files.readAll();
  }

  async function routed(site: Site): Promise<RoutedSite> {
    const { basicAuth: _plain, ...rest } = site;
    const basicAuth = await hashPassword(site);
    return { ...rest, ...(basicAuth !== undefined && { basicAuth }), slotCount: Math.max(1, site.upstreams.length) };
  }

  async function configOf(sites: ReadonlyMap<string, RoutedSite>): Promise<string> {
    const certificates = await ownCertificates(host, paths.certificates);
    return traefikFile(traefikConfig({ sites: sites.values(), settings, certificates }));
  }

  /** Traefik notices the change by itself, some milliseconds later. */
  async function write(sites: ReadonlyMap<string, RoutedSite>): Promise<void> {
    await host.files.write(configPath, await configOf(sites));
    drained.route([...sites.values()].flatMap((site) => site.upstreams));
    await delay(LEARNT_AFTER_MS);
  }

  /** Another control plane may change a site between our read and our write, so the last writer reads again. */
  async function settle(): Promise<void> {
    let sites = await recorded();
    for (let attempt = 1; attempt <= SETTLE_ATTEMPTS_MAX; attempt++) {
      await write(sites);
      const now = await recorded();
      if (isSame(now, sites)) return;
      sites = now;
    }
  }

  async function put(site: Site): Promise<void> {
    await recorded();
    await files.write(await routed(site));
    await settle();
  }

  async function remove(siteId: string): Promise<void> {
    if (!(await recorded()).has(siteId)) return;
    await files.remove(siteId);
    await settle();
  }

  async function sync(list: readonly Site[]): Promise<void> {
    await makeFolders();
    const sites = new Map<string, RoutedSite>();
    for (const site of list) sites.set(site.id, await routed(site));
    const config = await configOf(sites);
    const state = JSON.stringify([config, [...sites.values()]]);
    if ((await confirmed.isCurrent(state)) && (await host.files.read(configPath))?.toString() === config) return;
    await host.files.makeFolder(paths.sites);
    await confirmed.confirming(state, async () => {
      await pLimit(WRITES_AT_ONCE).map([...sites.values()], (site) => files.write(site));
      await write(sites);
      await files.removeOthers(sites.values());
    });
  }

  async function rehearsal(known: ReadonlyMap<string, RoutedSite>): Promise<Rehearsal> {
    const sites = rehearsalSites(known.values());
    const spec = traefikContainer(options.image, paths, rehearsalSettings(settings));
    const certificates = await ownCertificates(host, paths.certificates);
    await host.files.makeFolder(paths.rehearsal);
    const config = traefikConfig({ sites, settings: rehearsalSettings(settings), certificates });
    await host.files.write(join(paths.rehearsal, FILE), traefikFile(config));
    const mounts = spec.mounts.map((mount) =>
      mount.target === TRAEFIK_PATHS.config ? { ...mount, source: paths.rehearsal } : mount,
    );
    return {
      spec: { ...spec, mounts },
      check: (one, address) => untilRehearsed(host, one, { host: address, port: settings.httpPort }, sites),
    };
  }

  async function ensure(isAnew: boolean): Promise<void> {
    hasFolders = false;
    const sites = await recorded();
    await write(sites);
    const proxy: WantedProxy = {
      specFor: () => traefikContainer(options.image, paths, settings),
      rehearsal: () => rehearsal(sites),
      prepare: async () => {},
      async untilServing(one) {
        const startedMs = performance.now();
        // Where another proxy listens beside it, that may be the one that answers: it has read its file by then.
        await untilServing(host.name, one, async () => {
          const hasTime = performance.now() - startedMs >= STARTED_AFTER_MS;
          return hasTime && (await statusAt(host, { host: "127.0.0.1", port: settings.httpPort })) !== undefined;
        });
        if ((await one.state()) !== "running") await untilServing(host.name, one, async () => false);
      },
    };
    await container.ensure(proxy, { isAnew });
  }

  return {
    type: "TRAEFIK",
    capabilities: CAPABILITIES,
    sync: (sites) => inTurn(() => sync(sites)),
    put: (site) => inTurn(() => confirmed.changing(() => put(site))),
    delete: (siteId) => inTurn(() => confirmed.changing(() => remove(siteId))),
    inFlight: async (upstream) => (drained.isOver(upstream) ? 0 : 1),
    answered: async () => undefined,
    publicUrl: (url) => publicUrlOf(url, settings),
    ensure: ({ isAnew = false } = {}) => inTurn(() => ensure(isAnew)),
    stop: () => inTurn(() => container.remove()),
    status: () => seenStatus(host, settings, container.status("TRAEFIK")),
  };
}

export function traefikContainer(
  image = "traefik:v3",
  paths: ReturnType<typeof proxyPaths>,
  settings: ProxySettings,
): ProxyContainerSpec {
  return {
    type: "TRAEFIK",
    image,
    command: traefikCommand(settings),
    env: {},
    mounts: [
      // The folder is mounted, since replacing a mounted file would not be visible in the container.
      { source: join(paths.config, "traefik"), target: TRAEFIK_PATHS.config, isReadOnly: true },
      { source: paths.data, target: TRAEFIK_PATHS.data, isReadOnly: false },
      { source: paths.certificates, target: TRAEFIK_PATHS.certificates, isReadOnly: true },
    ],
  };
}

const isSame = (one: ReadonlyMap<string, RoutedSite>, other: ReadonlyMap<string, RoutedSite>): boolean =>
  JSON.stringify([...one]) === JSON.stringify([...other]);

const SETTLE_ATTEMPTS_MAX = 5;
const FILE = "berth.yml";
/** Five times the throttle that `traefikCommand` sets; by default changes would be 2 s apart. */
const LEARNT_AFTER_MS = 500;
const STARTED_AFTER_MS = 2000;
