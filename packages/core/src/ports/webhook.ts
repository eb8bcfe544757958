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

/** What a delivery may concern, in all teams: who proves to know an owner's secret acts for that owner. */
export interface SystemWebhookStore {
  /** Those that get their code from a repository with one of these keys by themselves, by id. @see repositoryKey */
  applicationsByRepository(keys: readonly string[]): Promise<
    readonly {
      readonly application: ApplicationRecord;
      readonly secrets: ApplicationSecrets;
    }[]
  >;
  /** Apps with this number, at whatever GitHub, by id. */
  githubApps(appId: number): Promise<readonly { readonly id: number; readonly webhook_secret: string }[]>;
  /** Those that get their code from the repository through one of these apps, by id. */
  applicationsByGithubApp(githubAppIds: readonly number[], repositoryId: number): Promise<readonly ApplicationRecord[]>;
  /**
   * Inside a transaction, which decides that the delivery is answered here: whoever comes with the same one waits for
   * its end. Answers what was remembered of an earlier one.
   */
  begin(delivery: WebhookDelivery): Promise<WebhookAnswer | undefined>;
  /** Of a delivery that was begun in this transaction. Kept for a week. */
  remember(delivery: WebhookDelivery, answer: WebhookAnswer): Promise<void>;
}
