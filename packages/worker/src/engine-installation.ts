import { isDomainError, type JobLease, type ServerRecord } from "@berth/core";
import { inspected, type ValidationDeps } from "./server-validation.ts";
import { within } from "./wait.ts";

/** Installs Docker on a server, with what that prints in the job's log, and validates the server afterwards. */
export async function installEngineOn(
  deps: ValidationDeps,
  lease: JobLease,
  serverId: number,
  signal: AbortSignal,
): Promise<void> {
  const { stores, logger, settings } = deps;
  const server = await stores.servers.find(serverId);
  if (server === undefined) {
    await stores.jobs.finish(lease, "failed", "The server was deleted in the meantime.");
    return;
  }
  const problem = lease.attempt > settings.attemptsMax ? INTERRUPTED : await install(deps, lease, server, signal);
  // Whoever takes it up next finds what is installed already.
  if (signal.aborted) return;
  if (problem !== null) {
    await stores.jobs.finish(lease, "failed", problem);
    logger.info("Docker could not be installed.", { server: server.name, problem });
    return;
  }
  await stores.servers.finishValidation(lease, serverId, await validated(deps, server));
  logger.info("Docker installed.", { server: server.name });
}

/** A sentence when it could not be done. */
async function install(
  deps: ValidationDeps,
  lease: JobLease,
  server: ServerRecord,
  signal: AbortSignal,
): Promise<string | null> {
  const machine = deps.machineOf(server);
  if (machine === undefined) return "No control plane that reaches this server can install Docker on it.";
  const lines: string[] = [];
  const lost = new AbortController();
  // Held as long as something is done; another worker takes it up soon after this one has gone.
  const flush = async () => {
    const isHeld = await deps.stores.jobs.writeLog(lease, tailOf(lines), LEASE_SECONDS).catch(() => true);
    if (!isHeld) lost.abort();
  };
  const timer = setInterval(flush, FLUSH_SECONDS * 1000);
  try {
    await machine.installEngine((line) => lines.push(line), AbortSignal.any([signal, lost.signal]));
    return null;
  } catch (error) {
    return isDomainError(error) ? error.message : `Docker could not be installed on server ${server.name}.`;
  } finally {
    clearInterval(timer);
    await flush();
  }
}

/** An engine that was started just now takes a moment to answer. */
async function validated(deps: ValidationDeps, server: ServerRecord) {
  const machine = deps.machineOf(server);
  for (let attempt = 1; machine !== undefined && attempt < ATTEMPTS; attempt += 1) {
    const answer = await within(
      1,
      machine.ping(AbortSignal.timeout(1000)).then(() => true),
    ).catch(() => undefined);
    if (answer !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  return await inspected(deps, server);
}

/** The end says what went wrong. */
function tailOf(lines: readonly string[]): string {
  const text = lines.join("\n");
  return text.length <= LOG_LENGTH_MAX ? text : `…\n${text.slice(-LOG_LENGTH_MAX)}`;
}

const INTERRUPTED = "The installation was interrupted too often. Start it again.";
/** What an installation is held for before its first line. */
export const LEASE_SECONDS = 30;
const FLUSH_SECONDS = 2;
const ATTEMPTS = 30;
const LOG_LENGTH_MAX = 60_000;
