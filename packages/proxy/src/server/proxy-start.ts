import { isDomainError } from "@berth/core";
import type { ManagedProxy, ManagedProxyStatus, ProxyType, SeenProxyStatus } from "@berth/core/ports";

/**
 * Starts the proxy that a server should have, and decides which one gets routes while that one does not serve. A failed
 * start is retried with growing pauses.
 */
export class ProxyStart {
  readonly #make: (type: ProxyType) => ManagedProxy;
  readonly #nowMs: () => number;
  #wanted: ManagedProxy;
  #told: ManagedProxy;
  /** The present or last start of the wanted proxy; none before its first, and after one that failed. */
  #starting: Promise<void> | undefined;
  #failure: Failure | undefined;
  /** A stopped proxy reads changes at its next start. */
  isStopped = false;

  /** @param nowMs A monotonic clock. */
  constructor(type: ProxyType, make: (type: ProxyType) => ManagedProxy, nowMs: () => number) {
    this.#make = make;
    this.#nowMs = nowMs;
    this.#wanted = make(type);
    this.#told = this.#wanted;
  }

  get wanted(): ManagedProxy {
    return this.#wanted;
  }

  /** The proxy that got the last update. */
  get told(): ManagedProxy {
    return this.#told;
  }

  get isBegun(): boolean {
    return this.#starting !== undefined;
  }

  /** The next update starts the proxy again. */
  forget(): void {
    this.#starting = undefined;
  }

  forgetFailure(): void {
    this.#failure = undefined;
  }

  /** Another proxy is wanted. Its routes are saved, and a failed start is retried later. */
  replace(type: ProxyType, { keepsRoutes }: { readonly keepsRoutes: boolean }): void {
    const wasStarted = keepsRoutes && (this.isBegun || this.#failure !== undefined);
    this.#wanted = this.#make(type);
    this.forget();
    this.forgetFailure();
    if (wasStarted) this.#startBeside();
    else this.#told = this.#wanted;
  }

  /** The part of its configuration outside of sites has changed. */
  readAnew(): void {
    if (!this.isBegun) return;
    this.forget();
    this.#startBeside();
  }

  /**
   * Works on the proxy that gets routes, after a start where one is due.
   * @param isPatient Does not retry a failed start before its pause has passed.
   */
  async tell<T>(isPatient: boolean, work: (proxy: ManagedProxy) => Promise<T>): Promise<T> {
    const proxy = await this.#started(isPatient);
    this.#told = proxy;
    return await work(proxy);
  }

  /** Requested by a caller who waits for the result, so it is tried at once. */
  async bring({ isAnew }: { readonly isAnew: boolean }): Promise<void> {
    if (this.isStopped) return;
    const proxy = this.#wanted;
    const mine = proxy.ensure({ isAnew });
    this.#starting = mine;
    try {
      await mine;
      this.#failure = undefined;
      this.#told = proxy;
    } catch (error) {
      this.#noteFailure(mine, error);
      throw error;
    }
  }

  /** As it is seen now, with the reason why a start failed. */
  async status(): Promise<SeenProxyStatus> {
    const status = await this.#wanted.status();
    if (this.#failure === undefined) return status;
    return { ...status, problem: problemOf(this.#failure, status, this.#wanted.type) };
  }

  #startBeside(): void {
    void this.tell(false, async () => {}).catch(() => undefined);
  }

  async #started(isPatient: boolean): Promise<ManagedProxy> {
    const proxy = this.#wanted;
    if (this.isStopped) return proxy;
    const failure = this.#failure;
    if (!this.isBegun && failure !== undefined) {
      const other = await this.#standIn();
      const restMs = isPatient ? failure.restMs : other === undefined ? ASKED_REST_SECONDS * 1000 : Infinity;
      if (this.#nowMs() - failure.atMs < restMs) {
        if (other === undefined) throw failure.error;
        return other;
      }
    }
    this.#starting ??= proxy.ensure();
    return await this.#settled(proxy, this.#starting);
  }

  async #settled(proxy: ManagedProxy, mine: Promise<void>): Promise<ManagedProxy> {
    try {
      await mine;
      if (this.#starting === mine) this.#failure = undefined;
      return proxy;
    } catch (error) {
      if (this.#wanted !== proxy) throw error;
      this.#noteFailure(mine, error);
      const other = await this.#standIn().catch(() => undefined);
      if (other === undefined) throw error;
      return other;
    }
  }

  /** The proxy that still serves while another type is wanted: it gets routes until the other one serves. */
  async #standIn(): Promise<ManagedProxy | undefined> {
    const { type, state } = await this.#wanted.status();
    if (state !== "running") return undefined;
    if (type === this.#wanted.type) return this.#wanted;
    return this.#told.type === type ? this.#told : this.#make(type);
  }

  /** A start that another one has replaced says nothing any more. */
  #noteFailure(mine: Promise<void>, error: unknown): void {
    if (this.#starting !== mine) return;
    this.#starting = undefined;
    const count = (this.#failure?.count ?? 0) + 1;
    const restMs = Math.min(REST_SECONDS * 2 ** (count - 1), REST_SECONDS_MAX) * 1000;
    this.#failure = { error, count, atMs: this.#nowMs(), restMs };
  }
}

/** Reason why the wanted proxy does not serve. */
interface Failure {
  readonly error: unknown;
  readonly count: number;
  readonly atMs: number;
  /** Pause before the automatic retry. */
  readonly restMs: number;
}

function problemOf({ error }: Failure, { type, state }: ManagedProxyStatus, wanted: ProxyType): string {
  const reason = isDomainError(error) ? error.message : "An internal error occurred. See the log of Berth.";
  if (state !== "running") return reason;
  const kept = type === wanted ? "The container that it had" : `The proxy ${type.toLowerCase()}`;
  return `${reason} ${kept} serves until that is mended.`;
}

/** Longest pause between attempts to pull a missing image. */
const REST_SECONDS = 5;
const REST_SECONDS_MAX = 300;
/** A deployment that needs the proxy retries sooner, since the cause may be fixed by then. */
const ASKED_REST_SECONDS = 5;
