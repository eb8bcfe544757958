import { isDomainError } from "@berth/core";
import type { ServerMachine } from "@berth/core/ports";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";
import { pause, within } from "../wait.ts";
import type { DeploymentLog } from "./log.ts";
import type { DeployStep } from "./progress.ts";

interface Interrupted {
  readonly ctx: {
    readonly leaseKeeper: Pick<LeaseKeeper, "signal" | "leaving">;
    readonly adapters: Pick<ServerAdapters, "machine">;
  };
  readonly log: Pick<DeploymentLog, "say">;
  readonly settings: Pick<WorkerSettings, "outageSecondsMax">;
}

/**
 * Whether a step that lost its server is to be run once more: it may be repeated, and the server answers by now. A
 * connection that was away for some seconds ends no deployment.
 */
export async function isBackFromOutage(
  { ctx, log, settings }: Interrupted,
  step: Pick<DeployStep, "name" | "resumable">,
  cause: unknown,
  attempt: number,
): Promise<boolean> {
  const { leaseKeeper, adapters } = ctx;
  const isRepeatable = step.resumable && attempt < ATTEMPTS_MAX && adapters.machine !== undefined;
  if (!isRepeatable || !isDomainError(cause, "server.unreachable", "engine.unreachable")) return false;
  log.say(step.name, `${cause.message} Waits until it is back.`, "stderr");
  const wanted = AbortSignal.any([leaseKeeper.signal, leaseKeeper.leaving]);
  const endMs = performance.now() + settings.outageSecondsMax * 1000;
  while (!wanted.aborted && performance.now() < endMs) {
    if (await answers(adapters.machine, wanted)) return !wanted.aborted;
    await pause(ASK_SECONDS, wanted);
  }
  return false;
}

async function answers(machine: ServerMachine, wanted: AbortSignal): Promise<boolean> {
  const signal = AbortSignal.any([wanted, AbortSignal.timeout(ANSWER_SECONDS * 1000)]);
  const asked = machine.ping(signal).then(
    () => true,
    () => false,
  );
  return (await within(ANSWER_SECONDS, asked))?.value ?? false;
}

/** Repeated failures while the server answers have another cause than an outage. */
const ATTEMPTS_MAX = 3;
const ASK_SECONDS = 0.5;
const ANSWER_SECONDS = 5;
