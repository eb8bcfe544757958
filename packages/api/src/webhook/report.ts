import { DomainError } from "@berth/core";
import { type WebhookProvider, type WebhookReport, webhookReport } from "@berth/core/webhook";
import { malformed } from "../rest/input.ts";
import { payloadOf } from "./payload.ts";

/** A delivery as received, before its sender is verified. */
export interface SentWebhook {
  readonly provider: WebhookProvider;
  /** Name of the event, if the provider sends it in a header. */
  readonly event: string | undefined;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

export type ReadWebhook =
  | { readonly report: WebhookReport }
  | { readonly refusal: Pick<DomainError, "code" | "message" | "details"> };

/** @throws DomainError `request.unsupported_media_type`, `request.malformed` */
export const readWebhook = ({ provider, event, contentType, body }: SentWebhook): WebhookReport =>
  webhookReport(provider, event, payloadOf(contentType, Buffer.from(body.buffer, body.byteOffset, body.byteLength)));

export interface WebhookReader {
  /**
   * Large deliveries are parsed in a thread, which is ended with the request.
   * @throws DomainError `request.unsupported_media_type`, `request.malformed`
   */
  read(sent: SentWebhook, signal: AbortSignal): Promise<WebhookReport>;
  close(): Promise<void>;
}

export interface ReaderLimits {
  readonly secondsMax: number;
  readonly memoryMbMax: number;
}

/**
 * Parses deliveries of unverified senders, up to 25 MB: large ones in threads, with limits of time and memory, so
 * that other requests are not delayed.
 */
export function webhookReader(limits: ReaderLimits = LIMITS): WebhookReader {
  let pool: ReturnType<typeof threads> | undefined;
  return {
    async read(sent, signal) {
      if (sent.body.byteLength <= SMALL_BYTES) return readWebhook(sent);
      pool ??= threads(limits);
      const { run } = await pool;
      const read = await run(sent, AbortSignal.any([signal, AbortSignal.timeout(limits.secondsMax * 1000)]));
      if ("report" in read) return read.report;
      const { code, message, details } = read.refusal;
      throw new DomainError(code, message, details && { details });
    },
    async close() {
      await (await pool)?.close();
    },
  };
}

/** Started for the first large delivery, and ended soon after the last one. */
async function threads({ memoryMbMax }: ReaderLimits) {
  const { default: Tinypool } = await import("tinypool");
  const pool = new Tinypool({
    filename: THREAD.href,
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: IDLE_SECONDS * 1000,
    resourceLimits: { maxOldGenerationSizeMb: memoryMbMax },
  });
  return {
    run: async (sent: SentWebhook, signal: AbortSignal): Promise<ReadWebhook> => {
      try {
        return await pool.run(sent, { signal });
      } catch (error) {
        // Also if the request was aborted meanwhile.
        if (!signal.aborted && !isOutOfMemory(error)) throw error;
        throw malformed("It takes too much time or memory to parse.");
      }
    },
    close: () => pool.destroy(),
  };
}

const isOutOfMemory = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";

const isSource = import.meta.url.endsWith(".ts");
const THREAD = new URL(isSource ? "./report-thread.ts" : "./report-thread.js", import.meta.url);

const SMALL_BYTES = 256 * 1024; // parsed within 10 ms, whatever its content
const IDLE_SECONDS = 10;
const LIMITS: ReaderLimits = {
  secondsMax: 20, // fifty times the worst case, since others may be before it
  memoryMbMax: 512,
};
