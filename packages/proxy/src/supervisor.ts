import { setTimeout as delay } from "node:timers/promises";
import { DomainError, isDomainError } from "@berth/core";
import pLimit, { type LimitFunction } from "p-limit";
import type { Instance, Instances } from "./instances.ts";
import type { ControlRequests, ProxyConfig } from "./protocol.ts";

/** Keeps one proxy process serving: adopts or starts it, replaces it, and restarts it when it ends. */
export interface Supervisor {
  readonly port: number;
  /** Serialises work, restarts included. */
  readonly exclusive: LimitFunction;
  /**
   * Sends a request to the serving process once it serves, and to replaced ones that still run. Call it only within
   * `exclusive`.
   * @returns All statuses, that of the serving process first.
   * @throws DomainError `engine.unreachable`
   */
  ask<Name extends keyof ControlRequests>(name: Name, input: ControlRequests[Name]): Promise<[Instance, ...Instance[]]>;
  /** With `stopProxy` all processes of the folder have exited when it resolves. Idempotent. */
  close(options: { readonly stopProxy: boolean }): Promise<void>;
}

/** How a hanging process is detected. */
export interface Liveness {
  readonly everySeconds: number;
  readonly answerSeconds: number;
}

const LIVENESS: Liveness = { everySeconds: 10, answerSeconds: 5 }; // A check costs about a millisecond.
const MISSES_MAX = 2; // A single miss may be our own pause, e.g. a suspend of the machine.
const STABLE_MS = 10_000;
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 10_000;
const ATTEMPTS = 3;
const DYING_MS_MAX = 5000; // Time for a failing process to exit and be replaced on a busy machine.
const TAKE_OVER_MS_MAX = 15_000;
const RETRY_MS_MAX = 250;
const ENDING_MS_MAX = 1000; // Time between a process losing its connections and its exit.
const POLL_MS = 10;
const STOP_GRACE_SECONDS = 3; // The process itself needs at most 2.

/** @throws DomainError `setup.failed` when the port cannot be opened. */
export async function supervise(
  instances: Instances,
  config: ProxyConfig,
  { onLine, liveness }: { readonly onLine: (line: string) => void; readonly liveness?: Partial<Liveness> | undefined },
): Promise<Supervisor> {
  const exclusive = pLimit(1);
  const closing = new AbortController();
  const { serving, retired } = await takeOverInTime(instances, config, onLine).catch((error: unknown) => {
    instances.close();
    throw error;
  });
  let current = serving;
  let replaced: readonly Instance[] = retired;
  let servingSince = 0;
  let failures = 0;
  let stopWatching = watch();
  void keepLive({ ...LIVENESS, ...liveness });

  function watch(): () => void {
    return instances.watch(current.pid, () => void revive(current.pid));
  }

  /** Restarts the process until one serves. */
  async function revive(pid: number): Promise<void> {
    const giveUpAt = Date.now() + ENDING_MS_MAX;
    while ((await instances.isLiving(pid)) && Date.now() < giveUpAt) await delay(POLL_MS);
    while (!closing.signal.aborted) {
      try {
        await exclusive(ensureServing);
        if (current.pid === pid) stopWatching = watch();
        return;
      } catch (error) {
        if (!closing.signal.aborted) onLine(isDomainError(error) ? error.message : `The proxy failed: ${error}.`);
      }
    }
  }

  /** Kills the process when it hangs; `watch` then sees its end. */
  async function keepLive({ everySeconds, answerSeconds }: Liveness): Promise<void> {
    const { signal } = closing;
    let missed = { pid: current.pid, count: 0 };
    while (await delay(everySeconds * 1000, true, { signal, ref: false }).catch(() => false)) {
      const { pid } = current;
      const isMiss = !(await instances.answers(pid, answerSeconds));
      missed = { pid, count: isMiss ? (missed.pid === pid ? missed.count : 0) + 1 : 0 };
      if (missed.count < MISSES_MAX || signal.aborted || pid !== current.pid) continue;
      if (await instances.isLiving(pid)) onLine(`The proxy hangs and is killed (process ${pid}).`);
      await instances.end(pid, 0).catch((error: unknown) => onLine(`The proxy cannot be killed: ${error}.`));
    }
  }

  async function ensureServing(): Promise<void> {
    closing.signal.throwIfAborted();
    if (await instances.isLiving(current.pid)) return;
    failures = Date.now() - servingSince > STABLE_MS ? 0 : failures + 1;
    const pause = failures === 0 ? 0 : Math.min(RESTART_MS_MAX, RESTART_MS_MIN * 2 ** (failures - 1));
    servingSince = Date.now() + pause;
    await delay(pause, undefined, { signal: closing.signal });
    stopWatching();
    await instances.end(current.pid, 0);
    const started = await instances.start({ ...config, port: current.port });
    if (started.state !== "listening") {
      await instances.end(started.pid, 0);
      throw portError(config.host, current.port, started.listenError);
    }
    onLine(`The proxy had ended and was started again (process ${started.pid}).`);
    current = started;
    stopWatching = watch();
  }

  async function askCurrent<Name extends keyof ControlRequests>(
    name: Name,
    input: ControlRequests[Name],
  ): Promise<Instance> {
    if (closing.signal.aborted) throw new DomainError("engine.unreachable", "The proxy is being closed.");
    const giveUpAt = Date.now() + DYING_MS_MAX;
    let cause: unknown;
    for (let attempt = 1; attempt <= ATTEMPTS || (isLost(cause) && Date.now() < giveUpAt); attempt++) {
      try {
        await ensureServing();
        return await instances.ask(current.pid, name, input);
      } catch (error) {
        cause = error;
        if (closing.signal.aborted) break;
        await delay(Math.min(RETRY_MS_MAX, POLL_MS * attempt)); // The process may be about to exit, so wait.
      }
    }
    const message = "The proxy does not answer. It is restarted when it ends: try again in a moment.";
    throw new DomainError("engine.unreachable", message, { cause });
  }

  return {
    port: current.port,
    exclusive,
    async ask(name, input) {
      const first = await askCurrent(name, input);
      replaced = await askAll(instances, replaced, name, input);
      return [first, ...replaced];
    },
    async close({ stopProxy }) {
      closing.abort();
      await exclusive(async () => {
        stopWatching();
        if (stopProxy) {
          await Promise.all([current, ...replaced].map(({ pid }) => instances.end(pid, STOP_GRACE_SECONDS)));
        }
        instances.close();
      });
    },
  };
}

interface TakenOver {
  readonly serving: Instance;
  readonly retired: readonly Instance[];
}

/** Repeats when a process exits during the takeover, whether killed or by itself. */
async function takeOverInTime(...given: Parameters<typeof takeOver>): Promise<TakenOver> {
  const giveUpAt = Date.now() + TAKE_OVER_MS_MAX;
  for (let attempt = 1; ; attempt++) {
    try {
      return await takeOver(...given);
    } catch (cause) {
      if (isDomainError(cause)) throw cause;
      if (!isLost(cause) || Date.now() > giveUpAt) {
        const message =
          "The proxy ended while it was being started. Look at proxy.log in its folder and start Berth again.";
        throw new DomainError("setup.failed", message, { cause });
      }
      await delay(Math.min(RETRY_MS_MAX, POLL_MS * attempt));
    }
  }
}

/** Whether an error of a control request means that the process is exiting or not ready yet. */
function isLost(error: unknown): boolean {
  return error instanceof Error && "code" in error && LOST_CODES.has(error.code);
}

const LOST_CODES: ReadonlySet<unknown> = new Set(["ECONNRESET", "ECONNREFUSED", "ENOENT", "EPIPE"]);

/** Adopts the process with exactly this version and configuration, or starts one and retires all others. */
async function takeOver(instances: Instances, config: ProxyConfig, onLine: (line: string) => void): Promise<TakenOver> {
  const running = await instances.find();
  const adopted = running.find((instance) => instance.version === config.version && instance.state !== "retired");
  const candidate = adopted ?? (await instances.start(config));
  const others = running.filter((instance) => instance.pid !== candidate.pid);
  try {
    const serving = await takePort(instances, config, { candidate, others });
    const retired = await askAll(instances, others, "retire", undefined);
    const how = adopted === undefined ? "listens" : "was running already and listens";
    onLine(`The proxy ${how} on port ${serving.port} (process ${serving.pid}).`);
    return { serving, retired };
  } catch (error) {
    if (adopted === undefined) await instances.end(candidate.pid, 0);
    throw error;
  }
}

/** Listens, if necessary after retiring another proxy of the folder that has the port. */
async function takePort(
  instances: Instances,
  config: ProxyConfig,
  { candidate, others }: { readonly candidate: Instance; readonly others: readonly Instance[] },
): Promise<Instance> {
  const isOurs = others.some(({ port, state }) => state === "listening" && port === config.port);
  if (candidate.state === "waiting" && isOurs) await askAll(instances, others, "retire", undefined);
  const serving = candidate.state === "waiting" ? await instances.ask(candidate.pid, "listen", undefined) : candidate;
  if (serving.state === "listening") return serving;
  throw portError(config.host, config.port, serving.listenError);
}

/** @returns Statuses of the running processes: a retired one exits when it has no requests left. */
async function askAll<Name extends keyof ControlRequests>(
  instances: Instances,
  list: readonly Instance[],
  name: Name,
  input: ControlRequests[Name],
): Promise<Instance[]> {
  const statuses = await Promise.all(list.map(({ pid }) => instances.ask(pid, name, input).catch(() => undefined)));
  return statuses.filter((status) => status !== undefined);
}

function portError(host: string, port: number, code: string | null): DomainError {
  const reason: Readonly<Record<string, string>> = {
    EADDRINUSE: `Port ${port} is in use by another program. Stop that, or choose another port with BERTH_PROXY_PORT. On 80 and 443 it may be Berth's own proxy beside Docker, which serves processes too: then leave BERTH_PROXY_PORT unset.`,
    EACCES: `Port ${port} is reserved for root. Start Berth as root, or choose a port from 1024 on with BERTH_PROXY_PORT.`,
    EADDRNOTAVAIL: `The proxy cannot listen on ${host}: this machine has no such address. Choose another one.`,
  };
  const message = reason[code ?? ""] ?? `The proxy cannot listen on port ${port} (BERTH_PROXY_PORT): ${code}.`;
  return new DomainError("setup.failed", message);
}
