import { isDomainError } from "@berth/core";
import { sitesOf } from "@berth/core/deploy";
import type { SeenProxyStatus, ServerRecord } from "@berth/core/ports";
import { proxyStatusOf } from "@berth/core/server";
import type { DedupedWarnings } from "./deduped-warnings.ts";
import type { Observer } from "./observe.ts";
import type { WorkerDeps } from "./ports.ts";
import { retryBackoff } from "./retry-backoff.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { recordProxyStatus } from "./server-proxy.ts";
import type { WorkerSettings } from "./settings.ts";

interface ProxySyncDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly observer: Observer;
  readonly warnings: DedupedWarnings;
}

interface Times {
  syncedMs: number;
  /** Type of the proxy at that time: another one begins with the sites that it had when it last ran. */
  syncedType: string | undefined;
  seenMs: number;
}

/** Keeps each server's proxy in step with its sites, and its recorded status in step with what it does. */
export class ProxySync {
  readonly #deps: ProxySyncDeps;
  readonly #backoff: ReturnType<typeof retryBackoff>;
  readonly #times = new Map<number, Times>();

  constructor(deps: ProxySyncDeps) {
    const { restSeconds, proxyRestSecondsMax } = deps.settings;
    this.#deps = deps;
    this.#backoff = retryBackoff({ firstSeconds: restSeconds, secondsMax: proxyRestSecondsMax });
  }

  async syncIfDue(adapters: ServerAdapters): Promise<void> {
    await this.#check(adapters).catch(() => undefined);
    const { syncedMs, syncedType } = this.#timesOf(adapters.server.id);
    const patience = isNeeded(adapters) ? 1 : RESYNCS_OF_UNNEEDED;
    const isOld = performance.now() - syncedMs > this.#deps.settings.resyncSeconds * patience * 1000;
    const isDue = isOld || syncedType !== adapters.server.proxy_type;
    if (isDue || adapters.router.isUncertain()) await this.sync(adapters);
  }

  /** @returns Whether the proxy has its sites. */
  async sync(adapters: ServerAdapters): Promise<boolean> {
    const { observer, warnings } = this.#deps;
    const { router, proxy, server } = adapters;
    const about = warningOf(server.id);
    if (proxy.lifecycle !== undefined && this.#backoff.isResting(about)) return false;
    try {
      await router.sync(async () => {
        // Whatever runs on a server without resources, it has no sites: most nodes of a cluster are such servers.
        if (!(await observer.hasResources(server.id))) return [];
        const { wanted, releases } = await observer.look(adapters);
        return sitesOf(wanted, releases);
      });
      const times = this.#timesOf(server.id);
      times.syncedMs = performance.now();
      times.syncedType = server.proxy_type;
      this.#backoff.succeeded(about);
      await recordProxyStatus(this.#deps, server, proxy, { recorded: server });
      warnings.over(about, "The proxy knows its sites again.", { server: server.name });
      return true;
    } catch (error) {
      this.#backoff.failed(about);
      // Releases are reconciled even while their proxy does not answer.
      warnings.failed(about, "The proxy did not accept its sites.", { server: server.name, error });
      const problem = isDomainError(error) ? error.message : "Internal error: Berth's own log has the details.";
      await recordProxyStatus(this.#deps, server, proxy, { problem }).catch(() => undefined);
      return false;
    }
  }

  /** Makes the next synchronisation due, since something else may have changed the proxy. */
  expire(serverId: number): void {
    this.#timesOf(serverId).syncedMs = NEVER;
  }

  forget(serverId: number): void {
    this.#times.delete(serverId);
    this.#deps.warnings.forget(warningOf(serverId));
    this.#deps.warnings.forget(standInOf(serverId));
  }

  /** Between two synchronisations: a proxy that ended is seen within seconds, and so is one that is back. */
  async #check(adapters: ServerAdapters): Promise<void> {
    const { proxy, server, router } = adapters;
    const times = this.#timesOf(server.id);
    if (!isNeeded(adapters) || performance.now() - times.seenMs < this.#deps.settings.proxyLookSeconds * 1000) return;
    times.seenMs = performance.now();
    const problem = router.isUncertain() ? (server.proxy_problem ?? undefined) : undefined;
    const seen = await recordProxyStatus(this.#deps, server, proxy, { problem, recorded: server });
    if (seen === undefined || server.is_proxy_stopped) return;
    this.#logStandIn(server, seen);
    const isRunning = seen.state === "running";
    if (isRunning && proxyStatusOf(seen) !== server.proxy_status) this.#backoff.succeeded(warningOf(server.id));
    if (!isRunning && router.sites().size > 0) times.syncedMs = NEVER;
  }

  /** Logs when the proxy before begins to serve in place of the wanted one, and when that is over. */
  #logStandIn({ id, name }: Pick<ServerRecord, "id" | "name">, { state, problem }: SeenProxyStatus): void {
    const { warnings } = this.#deps;
    // While no proxy serves, what it did not accept is logged.
    if (state !== "running") return;
    const details = { server: name };
    if (problem === undefined) warnings.over(standInOf(id), "The proxy serves as it is wanted again.", details);
    else warnings.failed(standInOf(id), "The proxy could not be replaced.", { ...details, error: problem });
  }

  #timesOf(serverId: number): Times {
    const known = this.#times.get(serverId) ?? { syncedMs: NEVER, syncedType: undefined, seenMs: NEVER };
    this.#times.set(serverId, known);
    return known;
  }
}

const isNeeded = ({ router, server }: ServerAdapters): boolean =>
  router.sites().size > 0 || server.proxy_status === "running";

const warningOf = (serverId: number) => `proxy ${serverId}`;
const standInOf = (serverId: number) => `proxy in place ${serverId}`;

const NEVER = Number.NEGATIVE_INFINITY;
/** One that does not run and has no sites can lose none: it is looked at only to see whether somebody started it. */
const RESYNCS_OF_UNNEEDED = 5;
