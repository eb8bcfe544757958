import { DomainError, isDomainError } from "../errors.ts";
import type { PushedRepository, WebhookIntent } from "./intent.ts";
import {
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
  webhookEvent,
  webhookIntents,
  webhookRepository,
} from "./provider.ts";

/** Everything that is used of a delivery's body, as plain data that can be sent between threads. */
export type WebhookReport =
  /** A ping, or an event that Berth ignores. */
  | { readonly type: "other"; readonly event: string }
  | {
      readonly type: "change";
      readonly repository: PushedRepository;
      /** The problem is only shown to the sender of a correctly signed delivery. */
      readonly intents: readonly WebhookIntent[] | { readonly problem: string };
    };

/** @throws DomainError `request.malformed` */
export function webhookReport(provider: WebhookProvider, header: string | undefined, payload: unknown): WebhookReport {
  const event = webhookEvent(provider, header, payload);
  if (event === "ping" || !Object.hasOwn(WEBHOOK_PROVIDERS[provider].events, event)) return { type: "other", event };
  return {
    type: "change",
    repository: webhookRepository(provider, payload),
    intents: intentsOf(provider, event, payload),
  };
}

function intentsOf(provider: WebhookProvider, event: string, payload: unknown) {
  try {
    return webhookIntents(provider, event, payload);
  } catch (error) {
    if (isDomainError(error, "request.malformed")) return { problem: error.message };
    throw error;
  }
}

/** @throws DomainError `request.malformed` */
export function reportedIntents({ intents }: WebhookReport & { readonly type: "change" }): readonly WebhookIntent[] {
  if ("problem" in intents) throw new DomainError("request.malformed", intents.problem);
  return intents;
}
