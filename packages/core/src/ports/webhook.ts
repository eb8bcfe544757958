import type { ApplicationSecrets } from "../application/application.ts";
import type { WebhookAnswer } from "../webhook/answer.ts";
import type { WebhookProvider } from "../webhook/provider.ts";
import type { ApplicationRecord } from "./records.ts";

/** One delivery of a host, as it is told from all others. */
export interface WebhookDelivery {
  readonly provider: WebhookProvider;
  /** Whose secret it was signed with: the same identifier from somebody else is another delivery. */
  readonly owner: string;
  readonly id: string;
}

/** Finds what a delivery may concern, in all teams. A valid signature acts for the secret's owner. */
export interface SystemWebhookStore {
  /** Applications whose own source is a repository with one of these keys, by id. @see repositoryKey */
  applicationsByRepository(keys: readonly string[]): Promise<
    readonly {
      readonly application: ApplicationRecord;
      readonly secrets: ApplicationSecrets;
    }[]
  >;
  /** Apps with this number, at whatever GitHub, by id. */
  githubApps(appId: number): Promise<readonly { readonly id: number; readonly webhook_secret: string }[]>;
  /** Applications that reach the repository through one of these apps, by id. */
  applicationsByGithubApp(githubAppIds: readonly number[], repositoryId: number): Promise<readonly ApplicationRecord[]>;
  /**
   * Inside a transaction, which decides that the delivery is answered here: a second request with the same one waits
   * for its end. Answers what was remembered of an earlier one.
   */
  begin(delivery: WebhookDelivery): Promise<WebhookAnswer | undefined>;
  /** Stores the answer of a delivery that was begun in this transaction. Kept for a week. */
  remember(delivery: WebhookDelivery, answer: WebhookAnswer): Promise<void>;
}
