import { join } from "node:path/posix";
import { isDomainError } from "@berth/core";
import type { Upstream } from "@berth/core/deploy";
import type { AnsweredRequests, ManagedProxy, ProxyCapabilities, Site } from "@berth/core/ports";
import pLimit from "p-limit";
import { confirmedState } from "../server/confirmed-state.ts";
import { passwordHasher } from "../server/password-hash.ts";
import { proxyPaths } from "../server/paths.ts";
import { seenStatus } from "../server/probe.ts";
import { publicUrlOf, type RoutedSite } from "../server/routed-site.ts";
import { proxySettings, type ServerProxyOptions } from "../server/settings.ts";
import { SharedCertificates } from "../server/shared-certificates.ts";
import { siteFiles } from "../server/site-files.ts";
import { WRITES_AT_ONCE } from "../server/writes.ts";
import { countAnswers, isCounted } from "./answer-log.ts";
import { CaddyConfiguration, isRefusal } from "./configuration.ts";
import { CaddyContainer } from "./container.ts";
import { obtainedCertificates } from "./obtained-certificates.ts";
import { addressOf, slotContents, slotCountFor } from "./site-handlers.ts";
import { SlotFiles } from "./slots.ts";

const CAPABILITIES: ProxyCapabilities = {
  https: true,
  compression: true,
  customHeaders: true,
  upstreamPorts: true,
  requestCounts: true,
  answerCounts: true,
  earlyAnswers: true,
  hidesSession: true,
};

/**
 * Caddy in a container of the server. Upstream addresses are in files, the sites' slots, which Caddy reads for each
 * request: a switch replaces a file and interrupts no connection. Only changed routes need a reload.
 */
export function caddyProxy(options: ServerProxyOptions): ManagedProxy {
  const { host, folder, instance } = options;
  const settings = proxySettings(options);
  const paths = proxyPaths(folder);
  const container = new CaddyContainer(options, settings);
  const { admin } = container;
  const slotsFolder = join(paths.run, "slots");
  const slots = new SlotFiles(host, slotsFolder);
  const files = siteFiles(host, paths.sites);
  const folders = [slotsFolder, ...container.folders];
  const isStopped = (error: unknown) => container.isStopped(error);
  const configuration = new CaddyConfiguration({ host, paths, settings, files, admin, folders, isStopped });
  const confirmed = confirmedState(host, paths.config);
  const shared = new SharedCertificates(host, paths.certificates);
  const hashPassword = passwordHasher(instance);
  const inTurn = pLimit(1);
  let isChanging = false;

  async function routed(site: Site, before: RoutedSite | undefined): Promise<RoutedSite> {
    const { basicAuth: _plain, ...rest } = site;
    const basicAuth = await hashPassword(site);
    const slotCount = slotCountFor(site.upstreams.length, before?.slotCount ?? 1);
    return { ...rest, ...(basicAuth !== undefined && { basicAuth }), slotCount };
  }

  async function put(site: Site): Promise<void> {
    const before = await configuration.currentSites();
    const previous = before.get(site.id);
    const next = await routed(site, previous);
    const sites = new Map(before).set(site.id, next);
    const wanted = slotContents(next);
    await files.write(next);
    try {
      await slots.write(wanted);
      if (configuration.isLoaded(configuration.of(sites))) configuration.accept(sites);
      else await configuration.loadRecorded();
    } catch (error) {
      if (isRefusal(error)) await (previous === undefined ? files.remove(site.id) : files.write(previous));
      throw error;
    }
    if (previous !== undefined)
      await slots.remove([...slotContents(previous).keys()].filter((name) => !wanted.has(name)));
  }

  async function remove(siteId: string): Promise<void> {
    const previous = (await configuration.currentSites()).get(siteId);
    if (previous === undefined) return;
    await files.remove(siteId);
    await configuration.loadRecorded();
    await slots.remove(slotContents(previous).keys());
  }

  async function sync(list: readonly Site[]): Promise<void> {
    const before = await configuration.sites();
    await configuration.readCertificates();
    const sites = new Map<string, RoutedSite>();
    for (const site of list) sites.set(site.id, await routed(site, before.get(site.id)));
    const wanted = new Map([...sites.values()].flatMap((site) => [...slotContents(site)]));
    const config = configuration.of(sites);
    const run = await container.run();
    const state = JSON.stringify([config, [...wanted], run]);
    // A Caddy that was started again may have read an older file.
    const isLoaded = run !== undefined && (await confirmed.isCurrent(state));
    if (isLoaded && (await hasFiles(config, wanted))) return;
    await confirmed.confirming(state, async () => {
      await slots.write(wanted);
      // Another control plane may have changed the configuration, so it is loaded again; Caddy ignores unchanged ones.
      configuration.forgetLoaded();
      await configuration.load(config);
      await pLimit(WRITES_AT_ONCE).map([...sites.values()], (site) => files.write(site));
      await files.removeOthers(sites.values());
      configuration.accept(sites);
      await slots.removeOthers(wanted);
    });
  }

  /** Whether nobody has removed what Caddy reads at its start and for each request. */
  async function hasFiles(config: string, wanted: ReadonlyMap<string, string>): Promise<boolean> {
    if (!(await configuration.isSaved(config))) return false;
    const present = await slots.present();
    return [...wanted.keys()].every((name) => present.has(name));
  }

  async function ensure(isAnew: boolean): Promise<void> {
    const sites = await configuration.recordedSites();
    const { type, state } = await container.status();
    // While the proxy runs, a slot may be newer than the record that was read.
    const present = type === "CADDY" && state === "running" ? await slots.present() : new Set();
    const wanted = [...sites.values()].flatMap((site) => [...slotContents(site)]);
    await slots.write(wanted.filter(([name]) => !present.has(name)));
    const started = await container.ensure(configuration, isAnew);
    const config = configuration.of(sites);
    configuration.forgetLoaded();
    try {
      await configuration.load(config);
    } catch (error) {
      if (started === undefined || !isDomainError(error, "engine.unreachable")) throw error;
      // On a busy machine it takes longer to see that it cannot listen: this says why it ended.
      try {
        await container.untilAnswering(started);
        await configuration.load(config);
      } catch (reason) {
        // Otherwise the engine keeps restarting it.
        await container.remove();
        throw reason;
      }
    }
  }

  async function inFlight(upstream: Upstream): Promise<number> {
    // Requests on a proxy that is being replaced are counted by nobody.
    if (isChanging) return 1;
    await slots.counted();
    try {
      return countOf(await admin.requestCounts(), upstream);
    } catch (error) {
      if (await container.isStopped(error)) return 0;
      throw error;
    }
  }

  async function answered(): Promise<AnsweredRequests | undefined> {
    const counted = [...configuration.known].filter(isCounted);
    const found = isChanging || counted.length === 0 ? undefined : await container.answers();
    return found && { run: found.run, bySite: await countAnswers(host, found.folder, counted) };
  }

  return {
    type: "CADDY",
    capabilities: CAPABILITIES,
    sync: (sites) => inTurn(() => sync(sites)),
    put: (site) => inTurn(() => confirmed.changing(() => put(site))),
    delete: (siteId) => inTurn(() => confirmed.changing(() => remove(siteId))),
    inFlight,
    answered,
    publicUrl: (url) => publicUrlOf(url, settings),
    ensure: ({ isAnew = false } = {}) =>
      inTurn(async () => {
        isChanging = true;
        try {
          await ensure(isAnew);
        } finally {
          isChanging = false;
        }
      }),
    stop: () =>
      inTurn(async () => {
        configuration.forgetLoaded();
        await container.remove();
      }),
    status: () => seenStatus(host, settings, container.status()),
    sharing: {
      async certificates() {
        const [placed, obtained] = await Promise.all([shared.placed(), container.obtained()]);
        return [...placed, ...(obtained === undefined ? [] : await obtainedCertificates(obtained))];
      },
      useCertificates: (certificates) =>
        inTurn(async () => {
          if (!(await shared.replace(certificates))) return;
          await confirmed.changing(async () => {
            await configuration.currentSites();
            await configuration.readCertificates();
            await configuration.loadRecorded();
          });
        }),
    },
  };
}

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
