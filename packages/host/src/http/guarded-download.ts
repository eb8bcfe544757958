import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { RequestInit } from "undici";
import { type GuardedFetchOptions, guardedExchange } from "./guarded-fetch.ts";
import { HttpFault } from "./http-fault.ts";

/** Facts about a downloaded file. */
export interface Downloaded {
  readonly status: number;
  readonly modified: Date | undefined;
  readonly sizeBytes: number;
}

/** @param file Written only for a successful status. @throws HttpFault */
export type GuardedDownload = (url: string | URL, file: string, init?: RequestInit) => Promise<Downloaded>;

/** Like `guardedFetch`, but writes to a file. `bytesMax` limits each file. */
export function guardedDownload(options: GuardedFetchOptions): GuardedDownload {
  const exchange = guardedExchange(options);
  return (url, file, init = {}) =>
    exchange(url, { ...init, headers: { ...init.headers, "accept-encoding": "identity" } }, async (answer, host) => {
      const said = new Date(answer.headers.get("last-modified") ?? Number.NaN);
      const about = { status: answer.status, modified: Number.isNaN(said.getTime()) ? undefined : said };
      if (!answer.ok) {
        await answer.body?.cancel();
        return { ...about, sizeBytes: 0 };
      }
      let sizeBytes = 0;
      const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          sizeBytes += chunk.length;
          if (sizeBytes > options.bytesMax) {
            throw new HttpFault("too_large", host, `${host} answered more than ${options.bytesMax} bytes.`);
          }
          yield chunk;
        }
      };
      await pipeline(answer.body ?? Readable.from([]), counted, createWriteStream(file, { mode: 0o600 }));
      return { ...about, sizeBytes };
    });
}
