import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import {
  DomainError,
  isDomainError,
  notFound,
  type ObjectStorage,
  type S3Credentials,
  type S3StorageRecord,
} from "@berth/core";
import { guardedLookup } from "../http/guarded-lookup.ts";
import { mayConnect, type PrivateHosts } from "../http/private-hosts.ts";

export interface ObjectStorageOptions {
  readonly allowedPrivateHosts: PrivateHosts;
}

type Bucket = Pick<S3StorageRecord, "name" | "endpoint" | "bucket" | "region">;

/** A bucket of a service that speaks the S3 API. It connects to no private address that is not allowed. */
export function objectStorage(
  { allowedPrivateHosts }: ObjectStorageOptions,
  storage: Bucket,
  { key, secret }: S3Credentials,
): ObjectStorage {
  const Bucket = storage.bucket;
  const client = () =>
    new S3Client({
      endpoint: storage.endpoint,
      region: storage.region,
      credentials: { accessKeyId: key, secretAccessKey: secret },
      // As every service understands it: hosts by bucket need names that many do not have.
      forcePathStyle: true,
      // Newer checksums are unknown to many services; what was stored is read back and compared anyway.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      followRegionRedirects: false,
      requestHandler: {
        httpAgent: guarded(HttpAgent, allowedPrivateHosts),
        httpsAgent: guarded(HttpsAgent, allowedPrivateHosts),
        connectionTimeout: CONNECT_MS_MAX,
        socketTimeout: SILENCE_MS_MAX,
      },
    });
  const using = async <T>(work: (s3: S3Client) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const s3 = client();
    try {
      return await work(s3);
    } catch (cause) {
      throw storageError(storage, cause, signal);
    } finally {
      s3.destroy();
    }
  };

  return {
    put: (name, content, { sizeBytes, signal }) =>
      using(async (s3) => {
        const params = { Bucket, Key: name, Body: Readable.from(content) };
        const upload = new Upload({ client: s3, params, queueSize: PARTS_AT_ONCE, partSize: partBytes(sizeBytes) });
        const abort = () => void upload.abort().catch(() => undefined);
        signal.addEventListener("abort", abort, { once: true });
        try {
          if (signal.aborted) throw new Error("aborted");
          await upload.done();
        } finally {
          signal.removeEventListener("abort", abort);
        }
      }, signal),
    async *get(name, signal) {
      const s3 = client();
      try {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: name }), { abortSignal: signal });
        if (!(Body instanceof Readable)) throw notFound("Object");
        yield* Body;
      } catch (cause) {
        throw storageError(storage, cause, signal);
      } finally {
        s3.destroy();
      }
    },
    remove: (name, signal) =>
      using(async (s3) => {
        await s3.send(new DeleteObjectCommand({ Bucket, Key: name }), { abortSignal: signal });
        // Pieces of an upload that did not end are no object, and cost money all the same. Not every service lists them.
        const listed = await s3
          .send(new ListMultipartUploadsCommand({ Bucket, Prefix: name }), { abortSignal: signal })
          .catch(() => undefined);
        for (const { Key, UploadId } of listed?.Uploads ?? []) {
          await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal: signal });
        }
      }, signal),
  };
}

const CONNECT_MS_MAX = 10_000;
const SILENCE_MS_MAX = 120_000;
const PARTS_AT_ONCE = 3;
const PART_BYTES_MIN = 16 * 1024 * 1024;
/** S3 takes 10,000; a few are left for content that grew. */
const PARTS_MAX = 9_900;

/** Of one part: some are in memory at a time, so it is larger only where there would be too many of them. */
export const partBytes = (sizeBytes: number): number => Math.max(PART_BYTES_MIN, Math.ceil(sizeBytes / PARTS_MAX));

/** Checked when a connection is made: what a name meant before does not count. */
function guarded<T extends HttpAgent>(Base: new (options: AgentOptions) => T, allowed: PrivateHosts): T {
  const agent = new Base({ keepAlive: true, lookup: guardedLookup(allowed, privateAddress) });
  const connect = agent.createConnection.bind(agent);
  Object.assign(agent, {
    createConnection(options: ClientRequestArgs, callback: (error: Error | null) => void) {
      const host = (options.host ?? "").replace(/^\[|\]$/g, "");
      // A literal address is never looked up.
      if (isIP(host) !== 0 && !mayConnect(host, host, allowed)) {
        callback(privateAddress(host, host));
        return undefined;
      }
      return connect(options, callback);
    },
  });
  return agent;
}

const privateAddress = (host: string, address: string) =>
  new DomainError(
    "cloud.refused",
    `${host} is a private address (${address}), which this instance does not call. Ask its operator to allow the host, or use one that is public.`,
  );

function storageError({ name, bucket }: Bucket, cause: unknown, signal: AbortSignal): DomainError {
  const own = causesOf(cause).find((one) => isDomainError(one));
  if (own !== undefined) return own;
  if (signal.aborted) return new DomainError("deploy.cancelled", "The work was cancelled.", { cause });
  const code = cause instanceof Error ? cause.name : "";
  if (code === "NoSuchKey" || code === "NotFound") return notFound("Object");
  const known = KNOWN[code];
  const reason =
    known?.(bucket) ?? `it answered ${code || "nothing"}${cause instanceof Error ? `: ${cause.message}` : ""}`;
  return new DomainError("cloud.failed", `The S3 storage ${name} cannot be used: ${reason}.`, { cause });
}

/** By the names that S3 gives them. */
const KNOWN: Readonly<Record<string, (bucket: string) => string>> = {
  NoSuchBucket: (bucket) => `it has no bucket ${bucket}`,
  AccessDenied: (bucket) => `the key may not use the bucket ${bucket}`,
  InvalidAccessKeyId: () => "it does not know the key",
  SignatureDoesNotMatch: () => "the secret is wrong",
};

function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one !== undefined && causes.length < 8; one = one instanceof Error ? one.cause : undefined) {
    causes.push(one);
  }
  return causes;
}
