import type { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import type { WebhookAnswer } from "../webhook/answer.ts";
import type { PushSetting } from "../webhook/decision.ts";
import type { WebhookProvider } from "../webhook/provider.ts";
import type { ApplicationRecord } from "./records.ts";

/** Identity of a host's delivery. */
export interface WebhookDelivery {
  readonly provider: WebhookProvider;
  /** Whose secret signed it: the same identifier from another owner is another delivery. */
  readonly owner: string;
  readonly id: string;
}

/** Lacks the settings that may be large, since a stranger's delivery may name a thousand applications. */
export interface PushedApplication extends Omit<ApplicationRecord, "settings"> {
  readonly settings: Pick<ApplicationSettings, PushSetting>;
}

/** Finds the resources that a delivery may concern, in all teams. A valid signature acts for the secret's owner. */
export interface SystemWebhookStore {
  /** Applications whose source is a repository with one of these keys, sorted by id. @see repositoryKey */
  applicationsByRepository(keys: readonly string[]): Promise<
    readonly {
      readonly application: PushedApplication;
      readonly secrets: ApplicationSecrets;
    }[]
  >;
  /** Apps with this number, at any GitHub server, sorted by id. */
  githubApps(appId: number): Promise<readonly { readonly id: number; readonly webhook_secret: string }[]>;
  /** Applications that use the repository through one of these apps, sorted by id. */
  applicationsByGithubApp(githubAppIds: readonly number[], repositoryId: number): Promise<readonly PushedApplication[]>;
  /**
   * In a transaction: locks the delivery, so that a second request with the same one waits. Returns the stored answer
   * of an earlier request.
   */
  begin(delivery: WebhookDelivery): Promise<WebhookAnswer | undefined>;
  /** Stores the answer of a delivery that was begun in this transaction, for a week. */
  remember(delivery: WebhookDelivery, answer: WebhookAnswer): Promise<void>;
}
