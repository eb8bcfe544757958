import { type CertificateProblem, certificateFault, certificateProblem, isPublicName } from "@berth/core/application";
import type { CertificateOwner, FoundCertificate, MissingCertificate, ServerRecord, Site } from "@berth/core/ports";
import { isClusterIngress, isNodeOf } from "@berth/core/server";
import pLimit from "p-limit";
import { dedupedWarnings } from "./deduped-warnings.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import type { ServerLeases } from "./server-lease.ts";
import type { WorkerSettings } from "./settings.ts";

export interface CertificateLooksDeps extends Pick<WorkerDeps, "stores" | "clock" | "logger"> {
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

/** When the certificate of a host is looked at next. */
interface WatchedHost {
  readonly sinceMs: number;
  nextMs: number;
  /** Looks in a row that found it faulty. */
  failures: number;
}

/** A round of looks at one server. */
interface ServerRound {
  readonly server: ServerRecord;
  /** Other servers take its requests too. */
  readonly hasOtherEntries: boolean;
  /** The proxy did not answer, which it would not do for another host either. */
  unreached?: MissingCertificate | undefined;
  addresses?: Promise<readonly string[]> | undefined;
}

/** Looks at the certificates that are due, a few at a time, and records what is wrong with them. */
export class CertificateLooks {
  readonly #deps: CertificateLooksDeps;
  readonly #watched = new Map<number, Map<string, WatchedHost>>();
  readonly #hosts = new WeakMap<ReadonlyMap<string, Site>, ReadonlySet<string>>();
  readonly #inTurn = pLimit(AT_ONCE);
  /** Names are resolved by threads that files need too. */
  readonly #resolving = pLimit(1);
  readonly #warnings: ReturnType<typeof dedupedWarnings>;

  constructor(deps: CertificateLooksDeps) {
    this.#deps = deps;
    this.#warnings = dedupedWarnings(deps.logger);
  }

  async round(own: readonly ServerAdapters[], servers: readonly ServerRecord[], stopping: AbortSignal): Promise<void> {
    const ids = new Set(own.map(({ server }) => server.id));
    for (const id of [...this.#watched.keys()]) if (!ids.has(id)) this.#forget(id);
    await Promise.all(own.map((adapters) => this.#visit(adapters, servers, stopping)));
  }

  async #visit(adapters: ServerAdapters, servers: readonly ServerRecord[], stopping: AbortSignal): Promise<void> {
    const { server } = adapters;
    try {
      const watched = this.#follow(adapters);
      // That a server or its proxy is away is shown by itself.
      if (watched.size === 0 || !server.settings.is_reachable || !server.settings.is_usable) return;
      const nowMs = performance.now();
      const isDue = [...watched].filter(([, { nextMs }]) => nextMs <= nowMs);
      const due = isDue.sort(([, one], [, other]) => one.nextMs - other.nextMs).slice(0, DUE_AT_ONCE);
      if (due.length === 0) return;
      if (!(await this.#deps.serverLeases.acquire(server.id))) return this.#forget(server.id);
      const isNode = (other: ServerRecord) => isNodeOf(other, server) && isClusterIngress(other);
      const round: ServerRound = { server, hasOtherEntries: servers.some(isNode) };
      await this.#look(round, new Map(due), stopping);
      this.#warnings.over(String(server.id), "The certificates of a server are watched again.", {
        server: server.name,
      });
    } catch (error) {
      const message = "The certificates of a server could not be watched.";
      this.#warnings.failed(String(server.id), message, { server: server.name, error });
    }
  }

  /** The hosts that are routed now, which keep their times. */
  #follow({ server, router, proxy }: ServerAdapters): ReadonlyMap<string, WatchedHost> {
    const sites = router.sites();
    const known = this.#watched.get(server.id) ?? new Map<string, WatchedHost>();
    this.#watched.set(server.id, known);
    // Where nothing answers at all, the reason of that is shown.
    const hosts = proxy.urlProblem?.(ANY_URL) === undefined ? this.#hostsOf(sites) : NONE;
    for (const host of [...known.keys()]) if (!hosts.has(host)) known.delete(host);
    const nowMs = performance.now();
    const { certificateFirstSeconds } = this.#deps.settings;
    for (const host of hosts) {
      if (known.has(host)) continue;
      const seconds = certificateFirstSeconds * (jittered(1) + Math.random() * hosts.size * SPREAD);
      known.set(host, { sinceMs: nowMs, nextMs: nowMs + seconds * 1000, failures: 0 });
    }
    return known;
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

  async #look(round: ServerRound, due: ReadonlyMap<string, WatchedHost>, stopping: AbortSignal): Promise<void> {
    const { certificateProblems } = this.#deps.stores;
    const owners = await certificateProblems.owners(round.server.id, [...due.keys()]);
    const ownersOf = Map.groupBy(owners, ({ host }) => host);
    const looks = [...due].map(([host, watched]) =>
      this.#inTurn(async () => {
        if (stopping.aborted) return [];
        const own = ownersOf.get(host);
        // Of a preview, or of an application whose own server is another one.
        if (own === undefined) return this.#plan(watched, this.#deps.settings.certificateRetrySecondsMax);
        return await this.#lookAt(round, watched, own, host);
      }),
    );
    const changes = (await Promise.all(looks)).flat();
    if (changes.length === 0) return;
    await certificateProblems.record(changes).catch((error: unknown) => {
      for (const watched of due.values()) watched.nextMs = 0;
      throw error;
    });
  }

  async #lookAt(
    round: ServerRound,
    watched: WatchedHost,
    owners: readonly CertificateOwner[],
    host: string,
  ): Promise<readonly FoundCertificate[]> {
    const { sites, clock, settings } = this.#deps;
    const certificate = round.unreached ?? (await sites.certificate(round.server, host));
    if ("failure" in certificate && !certificate.isReached) round.unreached = certificate;
    const fault = certificateFault(certificate, clock.now());
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
    // One that is just being issued, or a proxy that restarts, is no problem.
    if (!isLasting && fault !== "ending") return [];
    const [found, serverAddresses] = await this.#resolving(async () => {
      round.addresses ??= sites.serverAddresses(round.server);
      return [await sites.addresses(host), await round.addresses] as const;
    });
    return changesOf(owners, ({ is_on_several }) => {
      const hasOtherEntries = round.hasOtherEntries || is_on_several;
      return certificateProblem(host, { fault, certificate, found, serverAddresses, hasOtherEntries }) ?? null;
    });
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

const NONE: ReadonlySet<string> = new Set();
const ANY_URL = "https://site.invalid/";
/** A look costs a handshake of TLS, a few milliseconds of CPU at both ends, or waits seconds for an answer. */
const AT_ONCE = 8;
/** Due ones beyond wait for the next round. */
const DUE_AT_ONCE = 300;
/** The first looks after a start are spread: of 10,000 hosts, there are ten a second. */
const SPREAD = 1 / 600;
/** Looks that began together do not stay together. */
const jittered = (seconds: number) => seconds * (0.8 + Math.random() * 0.4);
