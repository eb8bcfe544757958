import {
  type ApplicationRecord,
  type Ids,
  pullRequestDecision,
  pushDecision,
  type Stores,
  type SystemStores,
  type WebhookDecision,
  type WebhookIntent,
  type WebhookProvider,
  type WebhookResult,
} from "@berth/core";
import { DUPLICATE_MESSAGE, type Requested, requestDeployments } from "./deployment-request.ts";
import { closePullRequest, isDeployed, openPullRequest } from "./webhook-pull-request.ts";

/** What a delivery asks of one application. */
export interface WebhookTask {
  readonly application: ApplicationRecord;
  readonly intent: WebhookIntent;
}

interface Context {
  readonly stores: SystemStores;
  readonly ids: Ids;
}

/**
 * Does all of it, each in the application's own team, and answers in the order of the tasks. Must run in a transaction.
 * @throws DomainError `queue.full`
 */
export async function carryOut(
  { stores, ids }: Context,
  provider: WebhookProvider,
  tasks: readonly WebhookTask[],
): Promise<readonly WebhookResult[]> {
  const results = new Map<WebhookTask, WebhookResult>();
  // Two deliveries that concern the same teams never wait for each other in a circle.
  const teamIds = [...new Set(tasks.map(({ application }) => application.team_id))].sort((a, b) => a - b);
  for (const teamId of teamIds) {
    const own = tasks.filter(({ application }) => application.team_id === teamId);
    const done = await carryOutInTeam({ team: stores.forTeam(teamId), ids }, provider, own);
    for (const [task, result] of done) results.set(task, result);
  }
  return tasks.flatMap((task) => results.get(task) ?? []);
}

interface TeamContext {
  readonly team: Stores;
  readonly ids: Ids;
}

async function carryOutInTeam(
  { team, ids }: TeamContext,
  provider: WebhookProvider,
  tasks: readonly WebhookTask[],
): Promise<ReadonlyMap<WebhookTask, WebhookResult>> {
  const results = new Map<WebhookTask, WebhookResult>();
  const deployed: WebhookTask[] = [];
  for (const task of tasks) {
    const result = await settledAtOnce({ team, ids }, provider, task);
    if (result === undefined) deployed.push(task);
    else results.set(task, result);
  }
  const wishes = deployed.map(({ application, intent }) => ({
    application,
    commit: intent.commit,
    pullRequestId: intent.type === "push" ? 0 : intent.number,
    gitType: provider,
  }));
  const requested = await requestDeployments({ ids }, team, wishes);
  for (const [index, task] of deployed.entries()) {
    const one = requested[index];
    if (one !== undefined) results.set(task, queued(task, one));
  }
  return results;
}

/** Answers `undefined` for a task that is to be deployed. */
async function settledAtOnce(
  { team, ids }: TeamContext,
  provider: WebhookProvider,
  { application, intent }: WebhookTask,
): Promise<WebhookResult | undefined> {
  const decision = decide(application, intent);
  if (decision.action === "skip") {
    const { message, details } = decision;
    return { ...named(application), status: "skipped", message, ...(details ? { details } : {}) };
  }
  if (intent.type === "push") return undefined;
  const result = { ...named(application), pull_request_id: intent.number };
  if (decision.action === "close") {
    const message = await closePullRequest(team, application, intent);
    return { ...result, status: "success", message };
  }
  if (await isDeployed(team, application, intent)) {
    return { ...result, status: "skipped", message: "This commit is deployed already." };
  }
  const problem = await openPullRequest({ team, ids }, provider, application, intent);
  return problem === undefined ? undefined : { ...result, status: "failed", message: problem };
}

function decide({ settings }: ApplicationRecord, intent: WebhookIntent): WebhookDecision {
  return intent.type === "push" ? pushDecision(settings, intent) : pullRequestDecision(settings, intent);
}

function queued({ application, intent }: WebhookTask, { deployment, isDuplicate }: Requested): WebhookResult {
  return {
    ...named(application),
    ...(intent.type === "push" ? {} : { pull_request_id: intent.number }),
    status: isDuplicate ? "skipped" : "queued",
    message: isDuplicate ? DUPLICATE_MESSAGE : "Deployment queued.",
    deployment_uuid: deployment.uuid,
  };
}

const named = ({ uuid, name }: ApplicationRecord) => ({
  application: name,
  application_uuid: uuid,
  application_name: name,
});
