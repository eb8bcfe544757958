import { createHmac, randomUUID } from "node:crypto";
import type { WebhookProvider } from "@berth/core/webhook";
import { bitbucketPullRequest, bitbucketPush } from "./bitbucket.ts";
import type { TestEvent, TestPullRequest, TestPush } from "./facts.ts";
import { giteaPullRequest, giteaPush } from "./gitea.ts";
import { githubPullRequest, githubPush } from "./github.ts";
import { gitlabMergeRequest, gitlabPush } from "./gitlab.ts";

/** Payloads as documented by each host, shortened where they only repeat. */
export const WEBHOOK_PAYLOADS: Readonly<
  Record<WebhookProvider, { push(push?: TestPush): TestEvent; pullRequest(request?: TestPullRequest): TestEvent }>
> = {
  github: { push: githubPush, pullRequest: githubPullRequest },
  gitlab: { push: gitlabPush, pullRequest: gitlabMergeRequest },
  bitbucket: { push: bitbucketPush, pullRequest: bitbucketPullRequest },
  gitea: { push: giteaPush, pullRequest: giteaPullRequest },
};

export interface TestDelivery {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** A delivery in the host's form, signed with the secret. */
export function webhookDelivery(
  provider: WebhookProvider,
  { event, payload }: TestEvent,
  { secret, id = randomUUID(), isForm = false }: { secret: string; id?: string; isForm?: boolean },
): TestDelivery {
  const json = JSON.stringify(payload);
  const body = isForm ? new URLSearchParams({ payload: json }).toString() : json;
  const signature = createHmac("sha256", secret).update(body).digest("hex");
  return {
    body,
    headers: {
      "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
      ...HEADERS[provider](event, id, signature, secret),
    },
  };
}

const HEADERS: Readonly<
  Record<WebhookProvider, (event: string, id: string, signature: string, secret: string) => Record<string, string>>
> = {
  github: (event, id, signature) => ({
    "user-agent": "GitHub-Hookshot/044aadd",
    "x-github-event": event,
    "x-github-delivery": id,
    "x-github-hook-id": "292430182",
    "x-hub-signature-256": `sha256=${signature}`,
  }),
  gitlab: (event, id, _signature, secret) => ({
    "user-agent": "GitLab/17.9.0",
    "x-gitlab-event": event === "push" ? "Push Hook" : "Merge Request Hook",
    "x-gitlab-event-uuid": id,
    "x-gitlab-instance": "https://gitlab.example",
    "x-gitlab-token": secret,
  }),
  bitbucket: (event, id, signature) => ({
    "user-agent": "Bitbucket-Webhooks/2.0",
    "x-event-key": event,
    "x-request-uuid": id,
    "x-attempt-number": "1",
    "x-hub-signature": `sha256=${signature}`,
  }),
  gitea: (event, id, signature) => ({
    "x-gitea-event": event,
    "x-gitea-event-type": event,
    "x-gitea-delivery": id,
    "x-gitea-signature": signature,
    "x-github-event": event,
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${signature}`,
  }),
};
