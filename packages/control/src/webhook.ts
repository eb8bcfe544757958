import { DomainError } from "@berth/core";
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
   * Acts for each application of the repository whose secret signed the delivery, in its own team: all or nothing. A
   * repeated delivery gets the same answer again.
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
      return once(stores, delivery, async (tx) => {
        if (tasks.length === 0) return nothing(`No application uses the changed branches of ${repository.name}.`);
        return applyDecision({ stores: tx, ids, instanceUrl, publicUrl }, provider, tasks);
      });
    },
  };
}

/** The applications that a delivery is for. */
interface Found {
  readonly applications: readonly ApplicationRecord[];
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
  work: (tx: SystemStores) => Promise<WebhookAnswer>,
): Promise<WebhookAnswer> {
  return stores.transaction(async (tx) => {
    const earlier = delivery && (await tx.webhooks.begin(delivery));
    if (earlier !== undefined) return earlier;
    const answer = await work(tx);
    if (delivery !== undefined) await tx.webhooks.remember(delivery, answer);
    return answer;
  });
}

const nothing = (message: string): readonly WebhookResult[] => [{ status: "skipped", message }];
