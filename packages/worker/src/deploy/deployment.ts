import { setImmediate as otherWork } from "node:timers/promises";
import { isDatabaseUnavailable, isDomainError } from "@berth/core";
import { inlineSecrets } from "@berth/core/compose";
import { deployedKind, STEP_NAMES, type StepName, type StepStatus } from "@berth/core/deploy";
import { requireReachable } from "@berth/core/env";
import type { ClaimedDeployment, Lease } from "@berth/core/ports";
import { withPublicUrls } from "../claims.ts";
import type { LeaseKeeper } from "../lease-keeper.ts";
import type { WorkerDeps } from "../ports.ts";
import type { ServerAdapters } from "../server-adapters.ts";
import type { WorkerSettings } from "../settings.ts";
import type { DeployContext } from "./context.ts";
import { errorSummary } from "./error-summary.ts";
import { stoppedTooOften } from "./failure.ts";
import { deploy } from "./index.ts";
import { type DeploymentLog, deploymentLog } from "./log.ts";
import { type DeploymentRun, type DeployStep, hasTraffic, type StepRow } from "./progress.ts";
import { type DeploymentEnd, runToEnd } from "./run.ts";
import { isSafeToRedact, secretsOf, valuesByKey } from "./secrets.ts";
import { variablesOf } from "./variables.ts";

export interface DeploymentDeps extends WorkerDeps {
  readonly settings: WorkerSettings;
  readonly adaptersOf: (server: ServerAdapters["server"]) => ServerAdapters;
  onHealthy(deploymentUuid: string): void;
  /** Default: the product's pipeline; tests pass their own. */
  readonly steps?: readonly DeployStep[] | undefined;
}

/** `left`: the next worker that claims it continues. */
export type DeploymentOutcome = DeploymentEnd | "left";

/** Runs one claimed deployment. Never rejects. */
export async function runDeployment(
  deps: DeploymentDeps,
  claim: ClaimedDeployment,
  leaseKeeper: LeaseKeeper,
): Promise<DeploymentOutcome> {
  const { logger } = deps;
  const details = { deployment: claim.deployment.uuid, attempt: claim.lease.attempt };
  let log: DeploymentLog | undefined;
  try {
    const opened = await open(deps, claim, leaseKeeper);
    if (typeof opened === "string") {
      logger.info(`Deployment ${opened}.`, details);
      return opened;
    }
    log = opened.log;
    if (claim.lease.attempt > 1) log.say(null, "Resuming after a restart of the control plane.");
    // Core's table has all step names, and the pipeline has no other steps.
    const steps = deps.steps ?? (deploy.steps as readonly DeployStep[]);
    const outcome = await runToEnd({ ...opened, logger, settings: deps.settings, steps, state: {} });
    logger.info(`Deployment ${outcome}.`, details);
    return outcome;
  } catch (error) {
    if (isExpected(leaseKeeper, error)) logger.info("Deployment handed over to the next worker.", details);
    else {
      const fault = errorSummary(error, log?.redact);
      logger.error("The run of a deployment was interrupted; another worker continues it.", {
        ...details,
        error: fault,
      });
    }
    return "left";
  } finally {
    await log?.close();
  }
}

const isExpected = (leaseKeeper: LeaseKeeper, error: unknown): boolean =>
  leaseKeeper.isLost || leaseKeeper.isStopping || isDatabaseUnavailable(error);

/** Prepares a run, or returns how the deployment ended because it could not be prepared. */
async function open(
  deps: DeploymentDeps,
  claim: ClaimedDeployment,
  leaseKeeper: LeaseKeeper,
): Promise<Pick<DeploymentRun, "ctx" | "log" | "rows"> | DeploymentOutcome> {
  const { attempt } = claim.lease;
  // The last allowed attempt was for undoing everything. It did not finish either, so nothing more is tried.
  if (attempt > deps.settings.attemptsMax + 1)
    return await failUnprepared(deps, claim, leaseKeeper, stoppedTooOften(attempt));
  try {
    const ctx = await readContext(deps, claim, leaseKeeper);
    if (ctx === undefined) return await endWithoutSubject(deps, claim);
    const log = await openLog(deps, ctx);
    return { ctx, log, rows: await readRows(deps, claim.lease) };
  } catch (error) {
    if (isExpected(leaseKeeper, error)) throw error;
    const details = { deployment: claim.deployment.uuid, attempt, error: errorSummary(error) };
    deps.logger.error("A deployment could not be prepared.", details);
    return await failUnprepared(
      deps,
      claim,
      leaseKeeper,
      isDomainError(error, "deploy.start_failed") ? error.message : UNOPENED,
    );
  }
}

const UNOPENED =
  "Berth could not prepare this deployment. Check its variables and settings, then deploy again; " +
  "Berth's own log has the details.";

async function readContext(
  deps: DeploymentDeps,
  claim: ClaimedDeployment,
  leaseKeeper: LeaseKeeper,
): Promise<DeployContext | undefined> {
  const { stores, source, clock, settings } = deps;
  const { deployment } = claim;
  const team = stores.forTeam(deployment.team_id);
  const [routing, servers, variables, storages] = await Promise.all([
    stores.resources.routing(deployment, claim.kind),
    stores.servers.list(),
    variablesOf(team, deployment),
    team.storages.list(deployment.resource_id),
  ]);
  // Changes of servers wake workers, in the order of their commits: this is as new as the deployment at least.
  const server = servers.find(({ id }) => id === deployment.server_id);
  const { subject, domains = null, live } = routing ?? {};
  if (subject === undefined || server === undefined || domains === null) return undefined;
  requireReachable(variables, deployment.pull_request_id !== 0);
  // Counted from now: the time when no control plane ran does not count.
  leaseKeeper.limit(server.settings.dynamic_timeout);
  const adapters = deps.adaptersOf(server);
  return {
    subject,
    kind: deployedKind(subject),
    deployment,
    domains: withPublicUrls(domains, adapters.proxy),
    envs: variables.envs,
    variables,
    storages: storages.items,
    ref: { resourceUuid: deployment.resource_uuid, deploymentUuid: deployment.uuid },
    isFirst: live === null,
    adapters,
    disk: () => deps.diskOf(server),
    engineOf: (other) => deps.adaptersOf(other).engine,
    ownsServer: (other) => deps.ownsServer(other),
    stores,
    source,
    credentialsFor: deps.credentialsFor,
    magic: deps.magic,
    clock,
    settings,
    lease: claim.lease,
    leaseKeeper,
    onHealthy: deps.onHealthy,
  };
}

/** Yields between its parts, which read all variables or a compose file. */
async function openLog(
  deps: DeploymentDeps,
  { deployment, variables, subject, kind, domains }: DeployContext,
): Promise<DeploymentLog> {
  const inline = inlineSecrets(kind.composeText(subject) ?? "", valuesByKey(variables.envs));
  await otherWork();
  const hidden = secretsOf({ ...variables, own: kind.secretTexts(subject), inline, domains, subject });
  await otherWork();
  const redactOwn = deps.redactor(hidden.filter(isSafeToRedact));
  await otherWork();
  return deploymentLog({
    deployments: deps.stores.deployments,
    deploymentId: deployment.id,
    clock: deps.clock,
    logger: deps.logger,
    settings: deps.settings,
    redactOwn,
    secrets: hidden,
    redactor: deps.redactor,
  });
}

/** The steps as earlier attempts left them. */
async function readRows({ stores }: DeploymentDeps, lease: Lease): Promise<Map<StepName, StepRow>> {
  const saved = lease.attempt === 1 ? [] : await stores.deployments.steps(lease.deployment_id);
  const pending = STEP_NAMES.map((name) => [name, { status: "pending", output: null, error: null }] as const);
  return new Map<StepName, StepRow>([...pending, ...saved.map((step) => [step.name, step] as const)]);
}

async function endWithoutSubject(
  { stores }: DeploymentDeps,
  { lease, deployment }: ClaimedDeployment,
): Promise<DeploymentOutcome> {
  const what = deployment.pull_request_id === 0 ? deployment.resource_name : "preview";
  const isEnded = await stores.deployments.finish(lease, "failed", `The ${what} is gone.`);
  return isEnded ? "failed" : "left";
}

/**
 * Ends a deployment whose context or log cannot be opened: otherwise it would be claimed again and again, and a cancel
 * ignored. The reconciler removes its candidate, as for every deployment that has ended.
 *
 * @param reason A sentence without secrets.
 * @throws when the database is unavailable: the next worker that claims the deployment continues.
 */
async function failUnprepared(
  deps: DeploymentDeps,
  { lease, deployment }: ClaimedDeployment,
  leaseKeeper: LeaseKeeper,
  reason: string,
): Promise<DeploymentOutcome> {
  const { stores, source, logger, clock } = deps;
  // A cancel that was requested by now takes effect.
  await leaseKeeper.refresh();
  if (leaseKeeper.isLost) return "left";
  const isLive = hasTraffic(await stores.releases.find(deployment.id));
  const isCancelled = leaseKeeper.ending === "cancelled";
  const outcome = isLive ? "finished" : isCancelled ? "cancelled-by-user" : "failed";
  const error = isLive ? null : isCancelled ? "Cancelled by a user." : reason;

  const tidyUp = async () => {
    for (const { name, status } of await stores.deployments.steps(lease.deployment_id)) {
      const left = leftStatus(status, outcome);
      if (left === undefined) continue;
      await stores.deployments.saveStep(lease, name, { status: left, ...(left === "failed" ? { error: reason } : {}) });
    }
    const line = { step: null, type: isLive ? "stdout" : "stderr", hidden: false, timestamp: clock.now() } as const;
    const output = error ?? "Deployment finished.";
    await stores.deployments.appendLog(deployment.id, [{ ...line, output }]);
    await source.removeCheckout(deployment.uuid);
  };
  // The deployment ends, even if the cleanup fails.
  await tidyUp().catch((cause: unknown) =>
    logger.warn("The cleanup after a deployment failed.", { deployment: deployment.uuid, error: errorSummary(cause) }),
  );
  return (await stores.deployments.finish(lease, outcome, error)) ? outcome : "left";
}

/** Final status of a step that is neither finished nor undone. */
function leftStatus(status: StepStatus, outcome: DeploymentOutcome): StepStatus | undefined {
  if (status === "running") {
    if (outcome === "finished") return "done";
    return outcome === "failed" ? "failed" : "cancelled";
  }
  return status === "pending" && outcome !== "finished" ? "skipped" : undefined;
}
