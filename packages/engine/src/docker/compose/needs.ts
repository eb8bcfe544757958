import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { containerTitle } from "@berth/core/compose";
import { releaseLogTitle } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type Docker from "dockerode";
import { readLog } from "../logs.ts";
import { ownCheckIn } from "../own-check.ts";
import type { SeenContainer } from "../watch.ts";
import type { StartNeed } from "./order.ts";

interface StartedStack<Container extends SeenContainer> {
  /** The engine that has a container. */
  dockerOf(container: Container): Docker;
  /** Its existing containers, without those that others have replaced. */
  containers(): Promise<readonly Container[]>;
  /** How many containers one should have. Default: those that exist. */
  replicasOf?(name: string): number;
  /** Whether a check that Berth runs itself is enough. Default: yes. */
  readonly hasOwnChecks?: boolean;
}

/**
 * Waits until containers are what the next ones need, by their own checks.
 * @throws DomainError `deploy.start_failed` when one cannot become that any more, `deploy.cancelled`
 */
export async function awaitNeeds<Container extends SeenContainer>(
  { dockerOf, containers: look, replicasOf, hasOwnChecks = true }: StartedStack<Container>,
  needs: readonly StartNeed[],
  io: WorkIO,
): Promise<void> {
  const passed = new Set<string>();
  const restartsBefore = new Map<string, number>();
  const said = new Set<string>();
  for (let open = needs; open.length > 0; ) {
    const containers = await look();
    const states = await Promise.all(open.map(async (need) => ({ need, state: await stateOf(need) })));
    open = states.flatMap(({ need, state }) => (state === "waits" ? need : []));
    for (const { name, condition } of open) {
      if (!said.has(name)) io.onLine(`Waits until ${name} ${WANTED[condition]}`, "stdout");
      said.add(name);
    }
    if (open.length > 0) await pause(io.signal);

    async function stateOf({ name, condition, isRequired }: StartNeed): Promise<"reached" | "waits"> {
      const ofName = containers.filter(({ container }) => container.name === name);
      try {
        const reached = await Promise.all(ofName.map((one) => isReached(one, condition)));
        // A swarm has not made those yet whose node was lost.
        const isWhole = ofName.length >= (replicasOf?.(name) ?? 0);
        return isWhole && !reached.includes(false) ? "reached" : "waits";
      } catch (cause) {
        if (!(cause instanceof DomainError) || cause.code !== "deploy.start_failed") throw cause;
        await sayLastLines(ofName);
        if (isRequired) throw cause;
        io.onLine(`Starts without ${name}: ${cause.message}`, "stderr");
        return "reached";
      }
    }
  }

  /** Most failures are explained only in the container's own log. */
  async function sayLastLines(ofName: readonly Container[]): Promise<void> {
    for (const one of ofName) {
      const { id, container } = one;
      const source = { docker: dockerOf(one), containerId: id, changed: async () => undefined };
      const lines: string[] = [];
      try {
        for await (const { line } of readLog(source, { lines: LAST_LINES, signal: io.signal })) lines.push(line);
      } catch {
        io.onLine(`The log of container ${containerTitle(container)} cannot be read.`, "stderr");
      }
      if (lines.length > 0) io.onLine(releaseLogTitle(containerTitle(container)), "stderr");
      for (const line of lines) io.onLine(line, "stderr");
    }
  }

  async function isReached(one: Container, condition: StartNeed["condition"]): Promise<boolean> {
    const { Status, ExitCode, Health } = one.info.State;
    const { state } = one.container;
    // A swarm replaces the containers of one that restarts.
    const isOver = state === "exited" || state === "dead";
    const title = containerTitle(one.container);
    if (condition === "service_completed_successfully") {
      if (isOver && ExitCode !== 0) throw failed(one, `exited with code ${ExitCode}`);
      return isOver;
    }
    if (isOver) throw failed(one, `exited with code ${ExitCode} before it was healthy`);
    const before = restartsBefore.get(title) ?? one.container.restartCount;
    restartsBefore.set(title, before);
    if (one.container.restartCount - before >= RESTARTS_MAX) throw failed(one, "keeps restarting");
    if (Health === undefined || Health.Status === "none") throw failed(one, "has no health check");
    // The engine calls a container unhealthy, too, that has ended and will be restarted.
    if (Status !== "running") return false;
    if (Health.Status === "unhealthy") throw failed(one, "is unhealthy");
    if (Health.Status === "healthy" || passed.has(one.id)) return true;
    if (!hasOwnChecks) return false;
    if ((await ownCheckIn(dockerOf(one), one.info, io.signal))?.exitCode !== 0) return false;
    passed.add(one.id);
    return true;
  }
}

const WANTED: Readonly<Record<StartNeed["condition"], string>> = {
  service_healthy: "is healthy",
  service_completed_successfully: "has completed",
};

const failed = ({ container }: SeenContainer, what: string): DomainError =>
  new DomainError(
    "deploy.start_failed",
    `The containers could not be started: ${containerTitle(container)}, which others wait for, ${what}.`,
  );

async function pause(signal: AbortSignal): Promise<void> {
  await delay(ASK_MS, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) throw new DomainError("deploy.cancelled", "The work was cancelled.");
}

const LAST_LINES = 20;
const RESTARTS_MAX = 3;
/** As often as Berth asks the checks of a release that starts. */
const ASK_MS = 1000;
