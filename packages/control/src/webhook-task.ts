import type { MatchEffort } from "@berth/core";
import type { PreviewRecord, PushedApplication, Stores, SystemStores } from "@berth/core/ports";
import {
  pullRequestDecision,
  pushDecision,
  type WebhookDecision,
  type WebhookIntent,
  type WebhookProvider,
  type WebhookResult,
  watchEffort,
} from "@berth/core/webhook";
import { applicationRequest, DUPLICATE_MESSAGE, type Requested, requestDeployments } from "./deployment-request.ts";
import { closePreview, type PreviewContext } from "./preview.ts";
import { isDeployed, openPullRequest } from "./webhook-pull-request.ts";

/** The work of a delivery for one application. */
export interface WebhookTask {
  readonly application: PushedApplication;
  readonly intent: WebhookIntent;
}

interface WebhookContext extends Omit<PreviewContext, "scope"> {
  readonly stores: SystemStores;
}

/**
 * Executes all tasks, each in its application's own team, and returns the results in their order. Must run in a
 * transaction.
 * @throws DomainError `queue.full`
 */
export async function applyDecision(
  { stores, ...context }: WebhookContext,
  provider: WebhookProvider,
  tasks: readonly WebhookTask[],
): Promise<readonly WebhookResult[]> {
  const results = new Map<WebhookTask, WebhookResult>();
  const effort = watchEffort();
  // Sorted, so that two deliveries that concern the same teams cannot deadlock.
  const teamIds = [...new Set(tasks.map(({ application }) => application.team_id))].sort((a, b) => a - b);
  for (const teamId of teamIds) {
    const own = tasks.filter(({ application }) => application.team_id === teamId);
    const done = await carryOutInTeam(
      { ...context, effort, scope: { teamId }, team: stores.forTeam(teamId) },
      provider,
      own,
    );
    for (const [task, result] of done) results.set(task, result);
  }
  return tasks.flatMap((task) => results.get(task) ?? []);
}

interface TeamContext extends PreviewContext {
  readonly team: Stores;
  readonly effort: MatchEffort;
}

async function carryOutInTeam(
  context: TeamContext,
  provider: WebhookProvider,
  tasks: readonly WebhookTask[],
): Promise<ReadonlyMap<WebhookTask, WebhookResult>> {
  const results = new Map<WebhookTask, WebhookResult>();
  const deployed: { readonly task: WebhookTask; readonly preview: PreviewRecord | undefined }[] = [];
  for (const task of tasks) {
    const next = await prepared(context, provider, task);
    if ("result" in next) results.set(task, next.result);
    else deployed.push({ task, preview: next.preview });
  }
  const requests = deployed.map(({ task: { application, intent }, preview }) =>
    applicationRequest(application, { commit: intent.commit, preview, gitType: provider }),
  );
  const requested = await requestDeployments(context, context.team, requests);
  for (const [index, { task }] of deployed.entries()) {
    const one = requested[index];
    if (one !== undefined) results.set(task, queued(task, one));
  }
  return results;
}

/** A result, or the deployment of a preview, or of the application itself without one. */
type Prepared = { readonly result: WebhookResult } | { readonly preview: PreviewRecord | undefined };

async function prepared(
  context: TeamContext,
  provider: WebhookProvider,
  { application, intent }: WebhookTask,
): Promise<Prepared> {
  const { team } = context;
  const decision = decide(application, intent, context.effort);
  if (decision.action === "skip") {
    const { message, details } = decision;
    return { result: { ...named(application), status: "skipped", message, ...(details ? { details } : {}) } };
  }
  if (intent.type === "push") return { preview: undefined };
  const result = { ...named(application), pull_request_id: intent.number };
  if (decision.action === "close") {
    const closing = await closePreview(context, team, application, intent.number);
    return { result: { ...result, ...(closing === undefined ? NOT_OPEN : CLOSED) } };
  }
  if (await isDeployed(team, application, intent)) {
    return { result: { ...result, status: "skipped", message: "This commit is already deployed." } };
  }
  const preview = await openPullRequest(context, provider, application, intent);
  return typeof preview === "string" ? { result: { ...result, status: "failed", message: preview } } : { preview };
}

const CLOSED = { status: "success", message: "Preview deployment closed." } as const;
const NOT_OPEN = { status: "skipped", message: "No preview deployment to close." } as const;

function decide({ settings }: PushedApplication, intent: WebhookIntent, effort: MatchEffort): WebhookDecision {
  return intent.type === "push" ? pushDecision(settings, intent, effort) : pullRequestDecision(settings, intent);
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

const named = ({ uuid, name }: PushedApplication) => ({
  application: name,
  application_uuid: uuid,
  application_name: name,
});
