import type { z } from "zod";
import type { ApplicationSecrets } from "../application/application.ts";
import { DomainError } from "../errors.ts";
import { BitbucketPush, BitbucketRepositoryEvent, bitbucketPullRequest } from "./bitbucket-payload.ts";
import { GiteaPullRequest, GithubPullRequest, GithubPush, GithubRepositoryEvent } from "./github-payload.ts";
import { GitlabKind, GitlabMergeRequest, GitlabProjectEvent, GitlabPush } from "./gitlab-payload.ts";
import type { PushedRepository, WebhookIntent } from "./intent.ts";

/** How a host authenticates a delivery, with a secret shared with the application. */
export interface SignatureScheme {
  /** In lower case. */
  readonly header: string;
  /** `sha256=` and the HMAC of the raw body, or the secret itself. */
  readonly type: "hmac-sha256" | "token";
}

interface Provider {
  readonly title: string;
  readonly signature: SignatureScheme;
  /** The application's own secret for this host. */
  readonly secret: keyof ApplicationSecrets;
  /** Header with the event's name; left out if the name is in the body. */
  readonly eventHeader?: string;
  /** Headers with the delivery's identifier: the first that is set. Repeated deliveries have the same one. */
  readonly deliveryHeaders: readonly string[];
  /** It repeats a delivery only when a person asks for that: which means that its work is to be done again. */
  readonly isRepeatedByHand?: true;
  readonly repository: z.ZodType<PushedRepository>;
  readonly events: Readonly<Record<string, z.ZodType<readonly WebhookIntent[]>>>;
}

/** The supported git hosts, and everything in which they differ. */
export const WEBHOOK_PROVIDERS = {
  github: {
    title: "GitHub",
    signature: { header: "x-hub-signature-256", type: "hmac-sha256" },
    secret: "manual_webhook_secret_github",
    eventHeader: "x-github-event",
    deliveryHeaders: ["x-github-delivery"],
    isRepeatedByHand: true,
    repository: GithubRepositoryEvent,
    events: { push: GithubPush, pull_request: GithubPullRequest },
  },
  gitlab: {
    title: "GitLab",
    signature: { header: "x-gitlab-token", type: "token" },
    secret: "manual_webhook_secret_gitlab",
    // GitLab sends `idempotency-key` since version 17.4.
    deliveryHeaders: ["idempotency-key", "x-gitlab-event-uuid"],
    repository: GitlabProjectEvent,
    events: { push: GitlabPush, merge_request: GitlabMergeRequest },
  },
  bitbucket: {
    title: "Bitbucket",
    signature: { header: "x-hub-signature", type: "hmac-sha256" },
    secret: "manual_webhook_secret_bitbucket",
    eventHeader: "x-event-key",
    deliveryHeaders: ["x-request-uuid"],
    repository: BitbucketRepositoryEvent,
    events: {
      "repo:push": BitbucketPush,
      "pullrequest:created": bitbucketPullRequest("open"),
      // Sent for new titles and reviewers too.
      "pullrequest:updated": bitbucketPullRequest("update"),
      "pullrequest:rejected": bitbucketPullRequest("close"),
      "pullrequest:fulfilled": bitbucketPullRequest("close"),
    },
  },
  gitea: {
    title: "Gitea",
    signature: { header: "x-hub-signature-256", type: "hmac-sha256" },
    secret: "manual_webhook_secret_gitea",
    eventHeader: "x-gitea-event",
    deliveryHeaders: ["x-gitea-delivery"],
    isRepeatedByHand: true,
    repository: GithubRepositoryEvent,
    events: { push: GithubPush, pull_request: GiteaPullRequest },
  },
} as const satisfies Record<string, Provider>;

export type WebhookProvider = keyof typeof WEBHOOK_PROVIDERS;

/** The type of the event: `push`, `pull_request`, `ping`, ... @throws DomainError `request.malformed` */
export function webhookEvent(provider: WebhookProvider, header: string | undefined, payload: unknown): string {
  const { title, eventHeader }: Provider = WEBHOOK_PROVIDERS[provider];
  if (eventHeader === undefined) return read(GitlabKind, payload, `${title}'s object_kind`);
  if (header) return header;
  throw new DomainError("request.malformed", `The header ${eventHeader} of ${title} is missing.`);
}

/** @throws DomainError `request.malformed` */
export function webhookRepository(provider: WebhookProvider, payload: unknown): PushedRepository {
  const { title, repository }: Provider = WEBHOOK_PROVIDERS[provider];
  return read(repository, payload, `the repository as ${title} describes it`);
}

/** Empty for events that Berth ignores. @throws DomainError `request.malformed` */
export function webhookIntents(provider: WebhookProvider, event: string, payload: unknown): readonly WebhookIntent[] {
  const { title, events }: Provider = WEBHOOK_PROVIDERS[provider];
  const schema = Object.hasOwn(events, event) ? events[event] : undefined;
  return schema === undefined ? [] : read(schema, payload, `a ${event} event of ${title}`);
}

function read<T>(schema: z.ZodType<T>, payload: unknown, what: string): T {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  throw new DomainError("request.malformed", `The body does not contain ${what}.`, { cause: parsed.error });
}
