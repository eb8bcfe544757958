import { isDomainError } from "@berth/core";
import { type ReadWebhook, readWebhook, type SentWebhook } from "./report.ts";

/** Runs in a worker thread: errors lose their class on the way back, so a refusal is returned instead of thrown. */
export default function report(sent: SentWebhook): ReadWebhook {
  try {
    return { report: readWebhook(sent) };
  } catch (error) {
    if (!isDomainError(error)) throw error;
    const { code, message, details } = error;
    return { refusal: { code, message, details } };
  }
}
