import { DomainError } from "@berth/core";
import { isTerminal } from "@berth/core/deploy";
import type { ApplicationRecord, Ids, SystemStores, WebhookDelivery } from "@berth/core/ports";
import {
  followsBranch,
  type PushedRepository,
  reportedIntents,
  WEBHOOK_PROVIDERS,
  type WebhookAnswer,
  type WebhookIntent,
  type WebhookProvider,
  type WebhookReport,
  type WebhookResult,
} from "@berth/core/webhook";
import { applyDecision, type WebhookTask } from "./webhook-task.ts";

export interface WebhookDeps {
  readonly stores: SystemStores;
  readonly ids: Ids;
  /** The instance's own URL, which no preview can take. */
  readonly instanceUrl: string | null;
}

/** A delivery as it came in. */
export interface ReceivedWebhook {
  readonly provider: WebhookProvider;
  /** For GitHub: the number of the app that it was sent for. Others prove an application's own secret. */
  readonly githubAppId?: number | undefined;
  /** The same when the delivery is repeated; `undefined` when the provider sends none. */
  readonly deliveryId: string | undefined;
  readonly report: WebhookReport;
  /** Whether the body as it came was signed with the secret. Takes as long whatever is wrong. */
  isSignedWith(secret: string): Promise<boolean>;
}

export interface Webhooks {
  /**
   * Acts for each application of the repository whose secret the delivery was signed with, in its own team: all of it
   * or nothing. One that was answered before is answered the same again, but for what failed or is to be done anew.
   *
   * @throws DomainError `webhook.unsigned`, `queue.full`, `request.malformed`
   */
  receive(received: ReceivedWebhook): Promise<WebhookAnswer | "pong">;
}

/** Pushes and pull requests that git hosts report. */
export function webhooks({ stores, ids, instanceUrl }: WebhookDeps): Webhooks {
  return {
    async receive(received) {
      const { provider, report } = received;
      if (report.type === "other") {
        const { title } = WEBHOOK_PROVIDERS[provider];
        if (report.event === "ping") return "pong";
        return nothing(`Nothing to do for the event ${report.event.slice(0, 100)} of ${title}.`);
      }
      const { repository } = report;
      const found =
        received.githubAppId === undefined
          ? await ownersOf(stores, received, repository)
          : await appsOf(stores, received, received.githubAppId, repository);
      if (found === undefined) return nothing(`No application gets its code from ${repository.name}.`);

      const tasks = tasksOf(found.applications, reportedIntents(report), repository);
      const { deliveryId: id } = received;
      const delivery = id === undefined ? undefined : { provider, owner: found.owner, id };
      return once(stores, delivery, async (tx, earlier) => {
        const due = earlier === undefined ? tasks : await dueAgain(tx, provider, tasks, earlier);
        if (due.length > 0) {
          return mergedAnswer(earlier, await applyDecision({ stores: tx, ids, instanceUrl }, provider, due));
        }
        return earlier ?? nothing(`No application follows what happened in ${repository.name}.`);
      });
    },
  };
}

/** For whom the delivery speaks. */
interface Found {
  readonly applications: readonly ApplicationRecord[];
  /** Whose secret it was signed with. The first one stays it when further applications share the secret. */
  readonly owner: string;
}

async function ownersOf(stores: SystemStores, received: ReceivedWebhook, { keys }: PushedRepository): Promise<Found> {
  const field = WEBHOOK_PROVIDERS[received.provider].secret;
  const candidates = await stores.webhooks.applicationsByRepository(keys);
  const signed = await signedBy(received, candidates, ({ secrets }) => secrets[field]);
  const applications = signed.map(({ application }) => application);
  return { applications, owner: `application ${applications[0]?.id}` };
}

async function appsOf(
  stores: SystemStores,
  received: ReceivedWebhook,
  appId: number,
  repository: PushedRepository,
): Promise<Found | undefined> {
  const apps = await signedBy(
    received,
    await stores.webhooks.githubApps(appId),
    ({ webhook_secret }) => webhook_secret,
  );
  if (repository.id === null) return undefined;
  const ids = apps.map(({ id }) => id);
  const applications = await stores.webhooks.applicationsByGithubApp(ids, repository.id);
  return { applications, owner: `github_app ${ids[0]}` };
}

/**
 * Those whose secret it was signed with. Whether there is anybody to ask is answered to nobody without such a secret.
 * @throws DomainError `webhook.unsigned` when it is the secret of none of them
 */
async function signedBy<T>(
  { isSignedWith }: ReceivedWebhook,
  candidates: readonly T[],
  secretOf: (candidate: T) => string | null,
): Promise<readonly T[]> {
  // An empty secret is everybody's.
  const secrets = new Set(candidates.map(secretOf).filter((secret) => secret !== null && secret !== ""));
  const right = new Set<string | null>();
  for (const secret of secrets) if (secret !== null && (await isSignedWith(secret))) right.add(secret);
  const signed = candidates.filter((candidate) => right.has(secretOf(candidate)));
  if (signed.length === 0) throw unsigned();
  return signed;
}

export const unsigned = () => new DomainError("webhook.unsigned", "Invalid signature.");

function tasksOf(
  applications: readonly ApplicationRecord[],
  intents: readonly WebhookIntent[],
  repository: PushedRepository,
): readonly WebhookTask[] {
  return intents.flatMap((intent) => {
    const branch = intent.type === "push" ? intent.branch : intent.base;
    return applications
      .filter(({ settings }) => followsBranch(settings, branch, repository))
      .map((application) => ({ application, intent }));
  });
}

function once(
  stores: SystemStores,
  delivery: WebhookDelivery | undefined,
  work: (tx: SystemStores, earlier: WebhookAnswer | undefined) => Promise<WebhookAnswer>,
): Promise<WebhookAnswer> {
  return stores.transaction(async (tx) => {
    const earlier = delivery && (await tx.webhooks.begin(delivery));
    const answer = await work(tx, earlier);
    if (delivery !== undefined && answer !== earlier) await tx.webhooks.remember(delivery, answer);
    return answer;
  });
}

/**
 * Of a delivery that is repeated: what failed the first time, and, of hosts that repeat only what a person asks them
 * to, deployments that have ended since.
 */
async function dueAgain(
  tx: SystemStores,
  provider: WebhookProvider,
  tasks: readonly WebhookTask[],
  earlier: WebhookAnswer,
): Promise<readonly WebhookTask[]> {
  const isRepeatedByHand = "isRepeatedByHand" in WEBHOOK_PROVIDERS[provider];
  const due: WebhookTask[] = [];
  for (const task of tasks) {
    const result = earlier.find((one) => one.application_uuid === task.application.uuid && isOf(one, task));
    if (result === undefined) continue;
    const { status, deployment_uuid } = result;
    const { deployments } = tx.forTeam(task.application.team_id);
    const deployment = isRepeatedByHand && deployment_uuid ? await deployments.find(deployment_uuid) : undefined;
    const hasEnded = deployment !== undefined && isTerminal(deployment.status);
    if (status === "failed" || hasEnded) due.push(task);
  }
  return due;
}

const isOf = ({ pull_request_id }: WebhookResult, { intent }: WebhookTask): boolean =>
  pull_request_id === (intent.type === "push" ? undefined : intent.number);

/** Each new result in the place of the one before it. */
function mergedAnswer(earlier: WebhookAnswer | undefined, results: readonly WebhookResult[]): WebhookAnswer {
  if (earlier === undefined) return results;
  return earlier.map((before) => results.find((result) => isAbout(result, before)) ?? before);
}

const isAbout = (one: WebhookResult, other: WebhookResult): boolean =>
  one.application_uuid === other.application_uuid && one.pull_request_id === other.pull_request_id;

const nothing = (message: string): readonly WebhookResult[] => [{ status: "skipped", message }];
