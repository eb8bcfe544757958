import { isDomainError } from "@berth/core";
import type { JobLease, ServerRecord, SwarmNode } from "@berth/core/ports";
import {
  assertMayLeave,
  clusterFindings,
  dockerValidationOf,
  ENGINES,
  type InspectionProgress,
  inspectionSteps,
  type JobStep,
  type ServerFindings,
  sameNodeProblem,
  stepOf,
  unsupportedEngineValidation,
  type ValidationResult,
  validationOf,
} from "@berth/core/server";
import { orderedWrites } from "./ordered-writes.ts";
import type { WorkerDeps } from "./ports.ts";
import type { ServerAdapters } from "./server-adapters.ts";
import { recordEngine } from "./server-engine.ts";
import type { WorkerSettings } from "./settings.ts";
import { pause, within } from "./wait.ts";

export interface ValidationDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly adaptersOf: (server: ServerRecord) => ServerAdapters;
}

/** Validates a server and records the result. If the server was deleted, only the job is ended. */
export async function validateServer(deps: ValidationDeps, lease: JobLease, serverId: number): Promise<void> {
  const { stores, logger } = deps;
  const server = await stores.servers.find(serverId);
  if (server === undefined) {
    await stores.jobs.finish(lease, "failed", "The server was deleted in the meantime.");
    return;
  }
  const found = await resultOf(deps, lease, server);
  if (found.swarm !== undefined) await removeLeftNode(deps, server, found.swarm);
  await stores.servers.finishValidation(lease, serverId, found);
  logger.info("Server validated.", { server: server.name, ...found });
}

async function resultOf(deps: ValidationDeps, lease: JobLease, server: ServerRecord): Promise<ValidationResult> {
  if (lease.attempt > deps.settings.attemptsMax) return INTERRUPTED;
  if (ENGINES[server.engine].isCluster && !deps.drivesClusters) return unsupportedEngineValidation(server.engine);
  if (ENGINES[server.engine].hasContainers) return await inspectDockerServer(deps, lease, server);
  if (!deps.ownsServer(server)) return ELSEWHERE;
  const findings = await look(deps, server);
  return validationOf(findings, server.settings.server_disk_usage_notification_threshold);
}

/**
 * Inspects a Docker server: machine first, then engine.
 * @param before Steps of the same job that have ended, which are recorded with the checks so far.
 */
export async function inspectDockerServer(
  deps: ValidationDeps,
  lease: JobLease,
  server: ServerRecord,
  before: readonly JobStep[] = [],
): Promise<ValidationResult> {
  const machine = deps.machineOf(server);
  if (machine === undefined) return ELSEWHERE;
  const { validationSeconds } = deps.settings;
  const writes = orderedWrites();
  const onProgress = (soFar: InspectionProgress) =>
    writes.add(() => deps.stores.jobs.writeSteps(lease, [...before, ...inspectionSteps(soFar)]));
  const inspection = await within(validationSeconds, machine.inspect(onProgress));
  // Progress is only shown: a database that hangs fails the validation's own record.
  await within(validationSeconds, writes.done());
  if (inspection === undefined) return failed(`Server ${server.name} does not answer within ${validationSeconds} s.`);
  const { engineId, swarm } = inspection.value;
  const engineProblem = engineId === null ? null : await recordEngine(deps.stores, server, engineId);
  const problem = engineProblem ?? (await nodeProblem(deps, server, swarm));
  if (problem !== null) {
    const steps = [...inspectionSteps(inspection.value), stepOf("Identity", problem, "")];
    return { ...failed(problem), is_reachable: true, steps };
  }
  const { server_disk_usage_notification_threshold: threshold } = server.settings;
  return dockerValidationOf(inspection.value, threshold, await clusterOf(deps, server, swarm));
}

async function nodeProblem({ stores }: ValidationDeps, server: ServerRecord, swarm: SwarmNode | null) {
  if (swarm === null) return null;
  const { items } = await stores.forTeam(server.team_id).servers.list();
  return sameNodeProblem(server, swarm.nodeId, items);
}

async function clusterOf({ drivesClusters, stores }: ValidationDeps, server: ServerRecord, node: SwarmNode | null) {
  if (!drivesClusters) return undefined;
  return clusterFindings(server, node, await stores.servers.clusterRecords(server.id, node));
}

/**
 * Removes the node that a server was, from the cluster that it has left: by hand, or when Berth ended in the middle of
 * that. Its managers would list it for ever. One with the data of storages stays, so that nothing empty is started, and
 * so does one that the managers still hear from: a machine may say that it is another node than it is.
 */
async function removeLeftNode(deps: ValidationDeps, server: ServerRecord, now: SwarmNode | null): Promise<void> {
  const { swarm_node_id: nodeId, swarm_cluster: headId } = server;
  if (nodeId === null || nodeId === now?.nodeId || headId === null || headId === server.id) return;
  try {
    const head = await deps.stores.servers.find(headId);
    const cluster = head && deps.adaptersOf(head).engine.cluster;
    if (cluster === undefined) return;
    const endMs = performance.now() + deps.settings.validationSeconds * 1000;
    const look = async () => {
      const nodes = await cluster.nodes();
      return { nodes, left: nodes.find(({ id }) => id === nodeId) };
    };
    let { nodes, left } = await look();
    // Managers notice it after some 15 s.
    while (left?.state === "ready" && performance.now() < endMs) {
      await pause(LOOK_SECONDS);
      ({ nodes, left } = await look());
    }
    if (left === undefined || left.state === "ready") return;
    assertMayLeave(nodes, { ...left, name: server.name }, {});
    if (left.isManager) await cluster.change(nodeId, { role: "worker" });
    await cluster.remove(nodeId);
  } catch (error) {
    deps.logger.warn("The node of a server that left its cluster was not removed.", { server: server.name, error });
  }
}

const LOOK_SECONDS = 1;

async function look(deps: ValidationDeps, server: ServerRecord): Promise<ServerFindings> {
  const { engine, proxy } = deps.adaptersOf(server);
  const answerOf = (what: string, work: () => Promise<unknown>) => problemOf(deps.settings, what, work);
  const [engineProblem, proxyProblem, disk] = await Promise.all([
    answerOf("engine", () => engine.list()),
    // The cheapest request that only a working proxy answers.
    answerOf("proxy", () => proxy.inFlight({ host: "127.0.0.1", port: 1 })),
    deps.diskOf(server).catch(() => undefined),
  ]);
  return { engineProblem, proxyProblem, disk: disk ?? null };
}

async function problemOf(
  { validationSeconds }: WorkerSettings,
  what: string,
  work: () => Promise<unknown>,
): Promise<string | null> {
  try {
    const answer = await within(validationSeconds, work());
    return answer === undefined ? `Its ${what} does not answer within ${validationSeconds} s.` : null;
  } catch (error) {
    return isDomainError(error) ? `Its ${what} does not work: ${error.message}` : `Its ${what} does not work.`;
  }
}

const failed = (sentence: string): ValidationResult => ({
  is_reachable: false,
  is_usable: false,
  validation_logs: sentence,
});
const INTERRUPTED = failed("The validation was interrupted too often. Start it again.");
const ELSEWHERE = failed("The server is the machine of another control plane, which does not answer.");
