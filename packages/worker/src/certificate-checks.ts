import { type CertificateProblem, certificateFault, certificateProblem, isPublicName } from "@berth/core/application";
import type { CertificateOwner, FoundCertificate, MissingCertificate, ServerRecord, Site } from "@berth/core/ports";
import { isClusterIngress, isNodeOf } from "@berth/core/server";
import pLimit from "p-limit";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";
import { within } from "./wait.ts";

export interface CertificateChecksDeps extends Pick<WorkerDeps, "stores" | "clock" | "logger"> {
  readonly settings: Pick<
    WorkerSettings,
    | "certificateSeconds"
    | "certificateFirstSeconds"
    | "certificateGraceSeconds"
    | "certificateRetrySecondsMax"
    | "certificateKeptSeconds"
  >;
  readonly serverLeases: Pick<ServerLeases, "acquire">;
  readonly sites: NonNullable<WorkerDeps["sites"]>;
}

/** When the certificate of a host is checked next. */
interface WatchedHost {
  readonly sinceMs: number;
  nextMs: number;
  /** Checks in a row that found it faulty. */
  failures: number;
}

interface WatchedServer {
  readonly hosts: Map<string, WatchedHost>;
  /** Hosts that are reported because the proxy does not answer. All hosts of a server share that reason. */
  readonly unreached: Set<string>;
}

/** The checks of one server that are due together. A server waits for its own proxy only, not for those of others. */
interface ServerRound {
  readonly server: ServerRecord;
  readonly watched: WatchedServer;
  /** Other servers take its requests too. */
  readonly hasOtherEntries: boolean;
  readonly stopping: AbortSignal;
  readonly asking: Limit;
  readonly resolving: Limit;
  /** Checks in a row that the proxy did not answer. */
  silences: number;
  /** The proxy is not asked any more, since it would not answer for another host either. */
  unreached?: MissingCertificate | undefined;
  addresses?: Promise<readonly string[]> | undefined;
}

type Limit = ReturnType<typeof pLimit>;

/** Checks the certificates that are due, a few of each server at a time, and records what is wrong with them. */
export class CertificateChecks {
  readonly #deps: CertificateChecksDeps;
  readonly #watched = new Map<number, WatchedServer>();
  readonly #hosts = new WeakMap<ReadonlyMap<string, Site>, ReadonlySet<string>>();
  readonly #running = new Map<number, Promise<void>>();
  readonly #warnings: ReturnType<typeof dedupedWarnings>;

  constructor(deps: CertificateChecksDeps) {
    this.#deps = deps;
    this.#warnings = dedupedWarnings(deps.logger);
  }

  /** Begins a round of each server. One whose last round still runs is left out. */
  begin(own: readonly ServerAdapters[], servers: readonly ServerRecord[], stopping: AbortSignal): void {
    if (stopping.aborted) return;
    const ids = new Set(own.map(({ server }) => server.id));
    for (const id of [...this.#watched.keys()]) if (!ids.has(id)) this.#forget(id);
    for (const adapters of own) {
      const { id } = adapters.server;
      if (this.#running.has(id)) continue;
      const visit = this.#visit(adapters, servers, stopping).finally(() => this.#running.delete(id));
      this.#running.set(id, visit);
    }
  }

  /** Resolves when nothing is recorded any more, at the latest after 5 seconds. */
  async ended(): Promise<void> {
    await within(STOP_SECONDS_MAX, Promise.all(this.#running.values()));
  }

  async #visit(adapters: ServerAdapters, servers: readonly ServerRecord[], stopping: AbortSignal): Promise<void> {
    const { server } = adapters;
    try {
      const watched = this.#follow(adapters);
      // A server or proxy that cannot be reached is reported by itself.
      if (watched.hosts.size === 0 || !server.settings.is_reachable || !server.settings.is_usable) return;
      const nowMs = performance.now();
      const waiting = [...watched.hosts].filter(([, { nextMs }]) => nextMs <= nowMs);
      const due = waiting.sort(([, one], [, other]) => one.nextMs - other.nextMs).slice(0, DUE_AT_ONCE);
      if (due.length === 0) return;
      if (!(await this.#deps.serverLeases.acquire(server.id))) return this.#forget(server.id);
      const isNode = (other: ServerRecord) => isNodeOf(other, server) && isClusterIngress(other);
      const hasOtherEntries = servers.some(isNode);
      const limits = { asking: pLimit(AT_ONCE), resolving: pLimit(RESOLVED_AT_ONCE) };
      await this.#checkAll({ server, watched, hasOtherEntries, stopping, silences: 0, ...limits }, new Map(due));
      this.#warnings.over(String(server.id), "The certificates of a server are watched again.", {
        server: server.name,
      });
    } catch (error) {
      const message = "The certificates of a server could not be watched.";
      this.#warnings.failed(String(server.id), message, { server: server.name, error });
    }
  }

  /** The hosts that are routed now, which keep their times. */
  #follow({ server, router, proxy }: ServerAdapters): WatchedServer {
    const sites = router.sites();
    const watched = this.#watched.get(server.id) ?? { hosts: new Map(), unreached: new Set() };
    this.#watched.set(server.id, watched);
    const known = watched.hosts;
    // Where nothing answers at all, the reason of that is shown.
    const hosts = proxy.urlProblem?.(ANY_URL) === undefined ? this.#hostsOf(sites) : NONE;
    for (const host of [...known.keys()]) if (!hosts.has(host)) known.delete(host);
    for (const host of [...watched.unreached]) if (!hosts.has(host)) watched.unreached.delete(host);
    const nowMs = performance.now();
    const { certificateFirstSeconds } = this.#deps.settings;
    for (const host of hosts) {
      if (known.has(host)) continue;
      const seconds = certificateFirstSeconds * (jittered(1) + Math.random() * hosts.size * SPREAD);
      known.set(host, { sinceMs: nowMs, nextMs: nowMs + seconds * 1000, failures: 0 });
    }
    return watched;
  }

  /** The map of sites is another one after each change. */
  #hostsOf(sites: ReadonlyMap<string, Site>): ReadonlySet<string> {
    const known = this.#hosts.get(sites);
    if (known !== undefined) return known;
    const running = [...sites.values()].filter(({ upstreams }) => upstreams.length > 0);
    const routes = running.flatMap((site) => site.routes.filter(({ isHttps }) => isHttps === true));
    const hosts = new Set(routes.map(({ host }) => host).filter(isPublicName));
    this.#hosts.set(sites, hosts);
    return hosts;
  }

  async #checkAll(round: ServerRound, due: ReadonlyMap<string, WatchedHost>): Promise<void> {
    const { stores, serverLeases, settings } = this.#deps;
    const { server, stopping } = round;
    const owners = await stores.certificateProblems.owners(server.id, [...due.keys()]);
    const ownersOf = Map.groupBy(owners, ({ host }) => host);
    const checks = [...due].map(([host, watched]) => {
      const own = ownersOf.get(host);
      // It belongs to a preview, or to an application whose own server is another one.
      if (own === undefined) return this.#plan(watched, settings.certificateRetrySecondsMax);
      return this.#check(round, watched, own, host);
    });
    const changes = (await unlessStopped(Promise.all(checks), stopping))?.flat() ?? [];
    if (changes.length === 0) return;
    // The checks may have taken longer than a lease, and another control plane may have found something else since.
    if (!(await serverLeases.acquire(server.id))) return this.#forget(server.id);
    await stores.certificateProblems.record(changes).catch((error: unknown) => {
      for (const watched of due.values()) watched.nextMs = 0;
      throw error;
    });
  }

  async #check(
    round: ServerRound,
    watched: WatchedHost,
    owners: readonly CertificateOwner[],
    host: string,
  ): Promise<readonly FoundCertificate[]> {
    const { sites, clock, settings } = this.#deps;
    const { unreached } = round.watched;
    const certificate = await round.asking(() => this.#ask(round, host));
    if (certificate === undefined) return [];
    const fault = certificateFault(certificate, clock.now());
    if (fault !== "unreached") unreached.delete(host);
    if (fault === undefined) {
      watched.failures = 0;
      this.#plan(watched, settings.certificateKeptSeconds);
      return changesOf(owners, () => null);
    }
    const isLasting =
      watched.failures > 0 && performance.now() - watched.sinceMs >= settings.certificateGraceSeconds * 1000;
    const { certificateFirstSeconds, certificateRetrySecondsMax } = settings;
    this.#plan(watched, Math.min(certificateFirstSeconds * 2 ** watched.failures, certificateRetrySecondsMax));
    watched.failures += 1;
    // One that is just being issued, or a proxy that restarts, is not a problem.
    if (!isLasting && fault !== "ending") return [];
    const isLeftOut = () => fault === "unreached" && !unreached.has(host) && unreached.size >= UNREACHED_MAX;
    if (isLeftOut()) return [];
    const found = await round.resolving(() => (round.stopping.aborted ? undefined : sites.addresses(host)));
    round.addresses ??= sites.serverAddresses(round.server);
    const serverAddresses = await round.addresses;
    if (found === undefined || isLeftOut()) return [];
    unreached.delete(host);
    return changesOf(owners, ({ is_on_several }) => {
      const hasOtherEntries = round.hasOtherEntries || is_on_several;
      const problem = certificateProblem(host, { fault, certificate, found, serverAddresses, hasOtherEntries });
      if (problem !== undefined && fault === "unreached") unreached.add(host);
      return problem ?? null;
    });
  }

  /** @returns `undefined` when the worker stops. */
  async #ask(round: ServerRound, host: string) {
    if (round.stopping.aborted) return undefined;
    if (round.unreached !== undefined) return round.unreached;
    const certificate = await this.#deps.sites.certificate(round.server, host);
    const isSilent = "failure" in certificate && !certificate.isReached;
    round.silences = isSilent ? round.silences + 1 : 0;
    if (isSilent && round.silences >= SILENCES_MAX) round.unreached = certificate;
    return certificate;
  }

  #plan(watched: WatchedHost, seconds: number): readonly FoundCertificate[] {
    watched.nextMs = performance.now() + jittered(seconds) * 1000;
    return [];
  }

  #forget(serverId: number): void {
    this.#watched.delete(serverId);
    this.#warnings.forget(String(serverId));
  }
}

/** What differs from what is recorded. */
const changesOf = (
  owners: readonly CertificateOwner[],
  problemOf: (owner: CertificateOwner) => CertificateProblem | null,
): readonly FoundCertificate[] =>
  owners.flatMap((owner) => {
    const { resource_id, host, recorded } = owner;
    const problem = problemOf(owner);
    const isSame = recorded?.reason === problem?.reason && recorded?.is_refused === problem?.is_refused;
    return isSame ? [] : [{ resource_id, host, problem }];
  });

/** Does not wait for a proxy or a name server when the worker stops. */
function unlessStopped<T>(work: Promise<T>, stopping: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    if (stopping.aborted) stop();
    stopping.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => stopping.removeEventListener("abort", stop));
  });
}

const NONE: ReadonlySet<string> = new Set();
const ANY_URL = "https://site.invalid/";
/** Of one server. A check costs a TLS handshake, a few milliseconds of CPU at both ends, or waits seconds for an answer. */
const AT_ONCE = 2;
/** Of one server. A silent name server costs seconds for each name, and nothing else. */
const RESOLVED_AT_ONCE = 8;
/** One connection may be lost, or the proxy may just wait for the certificate of one host. */
const SILENCES_MAX = 3;
/** Reported for a few hosts of a server, and not for each, when its proxy does not answer. */
const UNREACHED_MAX = 3;
const STOP_SECONDS_MAX = 5;
/** Due ones beyond wait for the next round. */
const DUE_AT_ONCE = 300;
/** The first checks after a start are spread: of 10,000 hosts, ten are checked a second. */
const SPREAD = 1 / 600;
/** Checks that began together do not stay together. */
const jittered = (seconds: number) => seconds * (0.8 + Math.random() * 0.4);
