import { isDomainError } from "@berth/core";
import { type ReadWebhook, readWebhook, type SentWebhook } from "./report.ts";

/** Called in a thread of its own: errors lose their class on the way, so a refusal is an answer. */
export default function report(sent: SentWebhook): ReadWebhook {
  try {
    return { report: readWebhook(sent) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    const { code, message, details } = error;
    return { refusal: { code, message, details } };
  }
}
