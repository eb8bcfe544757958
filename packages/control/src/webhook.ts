import { DomainError } from "@berth/core";
import { isTerminal } from "@berth/core/deploy";
import type { Ids, PushedApplication, SystemStores, WebhookDelivery } from "@berth/core/ports";
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
  /** URL of the instance, which no preview can use. */
  readonly instanceUrl: string | null;
  /** How a URL is reached: with the port of its server's proxy where it is not the usual one. */
  readonly publicUrl: (url: string, serverId: number) => string;
}

/** A delivery as received. */
export interface ReceivedWebhook {
  readonly provider: WebhookProvider;
  /** For GitHub: the number of the app it was sent to. Other deliveries are signed with an application's own secret. */
  readonly githubAppId?: number | undefined;
  /** Repeated deliveries have the same identifier; `undefined` if the provider sends none. */
  readonly deliveryId: string | undefined;
  readonly report: WebhookReport;
  /** Whether the unchanged body was signed with the secret, compared in constant time. */
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
export function webhooks({ stores, ids, instanceUrl, publicUrl }: WebhookDeps): Webhooks {
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
      if (found === undefined) return nothing(`No application uses the repository ${repository.name}.`);

      const tasks = tasksOf(found.applications, reportedIntents(report), repository);
      const { deliveryId: id } = received;
      const delivery = id === undefined ? undefined : { provider, owner: found.owner, id };
      return once(stores, delivery, async (tx, earlier) => {
        const due = earlier === undefined ? tasks : await dueAgain(tx, provider, tasks, earlier);
        if (due.length > 0) {
          return mergedAnswer(earlier, await applyDecision({ stores: tx, ids, instanceUrl, publicUrl }, provider, due));
        }
        return earlier ?? nothing(`No application uses the changed branches of ${repository.name}.`);
      });
    },
  };
}

/** The applications that a delivery is for. */
interface Found {
  readonly applications: readonly PushedApplication[];
  /** Whose secret signed it; with a shared secret the first one, which stays the same when applications are added. */
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
 * The candidates whose secret signed the delivery. Without such a secret, the error does not reveal whether there are
 * candidates.
 * @throws DomainError `webhook.unsigned` if no secret matches
 */
async function signedBy<T>(
  { isSignedWith }: ReceivedWebhook,
  candidates: readonly T[],
  secretOf: (candidate: T) => string | null,
): Promise<readonly T[]> {
  // Anybody could sign with an empty secret.
  const secrets = new Set(candidates.map(secretOf).filter((secret) => secret !== null && secret !== ""));
  // A repository that nobody has takes as long as one with a secret.
  if (secrets.size === 0) await isSignedWith(NO_SECRET);
  const right = new Set<string | null>();
  for (const secret of secrets) if (secret !== null && (await isSignedWith(secret))) right.add(secret);
  const signed = candidates.filter((candidate) => right.has(secretOf(candidate)));
  if (signed.length === 0) throw unsigned();
  return signed;
}

const NO_SECRET = "nobody has this secret, and its result is ignored";

export const unsigned = () => new DomainError("webhook.unsigned", "Invalid signature.");

function tasksOf(
  applications: readonly PushedApplication[],
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
