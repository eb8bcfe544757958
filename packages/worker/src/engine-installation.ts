import { isDomainError } from "@berth/core";
import type { JobLease, ServerRecord } from "@berth/core/ports";
import type { JobStep, ValidationResult } from "@berth/core/server";
import { orderedWrites } from "./ordered-writes.ts";
import { inspectDockerServer, type ValidationDeps } from "./server-validation.ts";
import { INSTALLATION_SECONDS_MAX } from "./settings.ts";
import { within } from "./wait.ts";

/** Installs Docker on a server, logs its output to the job, and validates the server afterwards. */
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
  const steps = recordedSteps(deps, lease);
  const problem =
    lease.attempt > settings.attemptsMax ? INTERRUPTED : await install(deps, lease, { server, steps, signal });
  // The next worker detects the packages that are already installed.
  if (signal.aborted) return;
  if (problem !== null) {
    await stores.jobs.finish(lease, "failed", problem);
    logger.info("Docker could not be installed.", { server: server.name, problem });
    return;
  }
  await stores.servers.finishValidation(lease, serverId, await validated(deps, lease, server, steps.all()));
  logger.info("Docker installed.", { server: server.name });
}

/** @returns A message when the installation failed. */
async function install(
  deps: ValidationDeps,
  lease: JobLease,
  {
    server,
    steps,
    signal,
  }: { readonly server: ServerRecord; readonly steps: RecordedSteps; readonly signal: AbortSignal },
): Promise<string | null> {
  const machine = deps.machineOf(server);
  if (machine === undefined) return "No control plane reaches this server, so Docker cannot be installed on it.";
  if (lease.attempt > 1) steps.clear();
  const { settings } = deps;
  const printed = outputTail();
  const overdue = AbortSignal.timeout(INSTALLATION_SECONDS_MAX * 1000);
  const log = orderedWrites();
  const flush = () => log.add(() => deps.stores.jobs.writeLog(lease, printed.text()));
  const timer = setInterval(flush, FLUSH_SECONDS * 1000);
  const done = async (): Promise<string | null> => {
    try {
      const progress = { onStep: steps.begin, onLine: printed.add };
      const work = machine.installEngine(progress, AbortSignal.any([signal, overdue]));
      if ((await within(INSTALLATION_SECONDS_MAX, work)) !== undefined) return null;
      return `Server ${server.name} did not end the installation within ${INSTALLATION_SECONDS_MAX / 60} minutes.`;
    } catch (error) {
      return isDomainError(error) ? error.message : `Docker could not be installed on server ${server.name}.`;
    }
  };
  try {
    const problem = await done();
    // A failed job's running step fails with it, and the next worker begins again.
    if (problem === null && !signal.aborted) steps.pass();
    return problem;
  } finally {
    clearInterval(timer);
    flush();
    await log.done();
    await within(settings.validationSeconds, steps.written());
  }
}

type RecordedSteps = ReturnType<typeof recordedSteps>;

/** The steps of an installation, recorded with its job when one begins and when they have passed. */
function recordedSteps({ stores }: Pick<ValidationDeps, "stores">, lease: JobLease) {
  let steps: readonly JobStep[] = [];
  const writes = orderedWrites();
  const write = (next: readonly JobStep[]) => {
    steps = next;
    writes.add(() => stores.jobs.writeSteps(lease, next));
  };
  const passed = () => steps.map((step): JobStep => (step.result === "running" ? { ...step, result: "passed" } : step));
  return {
    all: () => steps,
    /** Removes the steps of an earlier attempt. */
    clear: () => write([]),
    begin: ({ name, command: message }: { readonly name: string; readonly command: string }) =>
      write([...passed(), { name, result: "running", message }]),
    pass: () => write(passed()),
    written: writes.done,
  };
}

/** An engine may need a moment after its first start. */
async function validated(
  deps: ValidationDeps,
  lease: JobLease,
  server: ServerRecord,
  before: readonly JobStep[],
): Promise<ValidationResult> {
  const machine = deps.machineOf(server);
  for (let attempt = 1; machine !== undefined && attempt < ATTEMPTS; attempt += 1) {
    const answer = await within(
      1,
      machine.ping(AbortSignal.timeout(1000)).then(() => true),
    ).catch(() => undefined);
    if (answer !== undefined) break;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  const result = await inspectDockerServer(deps, lease, server, before);
  return { ...result, steps: [...before, ...(result.steps ?? [])] };
}

/** Keeps only the end of the output, which shows the failure: the output may be endless. */
export function outputTail(lengthMax: number = LOG_LENGTH_MAX) {
  let lines: string[] = [];
  let length = 0;
  let isCut = false;
  const cut = () => {
    const text = lines.join("\n");
    if (text.length <= lengthMax) return text;
    isCut = true;
    return text.slice(-lengthMax);
  };
  return {
    add: (line: string): void => {
      lines.push(line);
      length += line.length + 1;
      if (length <= 2 * lengthMax) return;
      lines = [cut()];
      length = lengthMax;
    },
    text: (): string => {
      const text = cut();
      return isCut ? `…\n${text}` : text;
    },
  };
}

const INTERRUPTED = "The installation was interrupted too often. Start it again.";
const FLUSH_SECONDS = 2;
const ATTEMPTS = 30;
const LOG_LENGTH_MAX = 60_000;
