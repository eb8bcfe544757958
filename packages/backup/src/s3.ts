import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import { pipeline, Readable, Transform } from "node:stream";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { DomainError, isDomainError, notFound, privateAddressProblem } from "@berth/core";
import type { ObjectStorage, S3Credentials, S3StorageRecord } from "@berth/core/ports";
import { guardedLookup, mayConnect, mayUse, type PrivateHosts } from "@berth/host";
import { atPace, PACE, type Pace } from "./pace.ts";

export interface ObjectStorageOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** Default: `PACE`. */
  readonly pace?: Pace;
}

export type Bucket = Pick<S3StorageRecord, "name" | "endpoint" | "bucket" | "region">;

export function s3(
  { allowedPrivateHosts, pace = PACE }: ObjectStorageOptions,
  storage: Bucket,
  login: S3Credentials,
): ObjectStorage {
  const Bucket = storage.bucket;
  const { key, secret } = login;
  const client = (signal: AbortSignal) => {
    const s3 = new S3Client({
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
    endWith(s3, signal, pace);
    return s3;
  };
  const using = async <T>(work: (s3: S3Client) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const s3 = client(signal);
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
        const over = overAfter(signal);
        over.addEventListener("abort", () => void upload.abort(), { once: true });
        signal.throwIfAborted();
        await upload.done();
      }, signal),
    async *get(name, signal) {
      const s3 = client(signal);
      try {
        const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: name }));
        if (!(Body instanceof Readable)) throw notFound("Object");
        yield* atPace<Buffer>(Body, pace);
      } catch (cause) {
        throw storageError(storage, cause, signal);
      } finally {
        s3.destroy();
      }
    },
    remove: (name, signal) =>
      using(async (s3) => {
        await s3.send(new DeleteObjectCommand({ Bucket, Key: name }));
        // Pieces of an upload that did not end are no object, and cost money all the same. Not every service lists
        // them.
        const listed = await s3
          .send(new ListMultipartUploadsCommand({ Bucket, Prefix: name, MaxUploads: UPLOADS_MAX }))
          .catch(() => undefined);
        for (const { Key, UploadId } of listed?.Uploads ?? []) {
          await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
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

/** Size of one part. Several are in memory at a time, so parts grow only when there would be too many. */
export const partBytes = (sizeBytes: number): number => Math.max(PART_BYTES_MIN, Math.ceil(sizeBytes / PARTS_MAX));

/**
 * Every request of the client, also those that it makes itself: an upload knows of no signal, and sends again what was
 * broken off. What it removes then, its pieces, it may.
 */
function endWith({ config: { requestHandler } }: S3Client, signal: AbortSignal, pace: Pace): void {
  const handle = requestHandler.handle.bind(requestHandler);
  const over = overAfter(signal);
  Object.assign(requestHandler, {
    async handle(...[request, options]: Parameters<typeof handle>) {
      const wanted = request.method === "DELETE" ? over : signal;
      // A body may take long to send; every other request is answered at once.
      const late = request.body === undefined ? lateAfter(pace.seconds) : undefined;
      const abortSignal = late === undefined ? wanted : AbortSignal.any([wanted, late.signal]);
      const sent = await handle(request, { ...options, abortSignal }).catch((cause: unknown) => {
        throw late?.signal.aborted ? late.signal.reason : cause;
      });
      late?.answered();
      const { response } = sent;
      const isObject = request.method === "GET" && response.statusCode < 300 && request.query?.uploads === undefined;
      // The client keeps all of what is not an object.
      if (!isObject && response.body instanceof Readable)
        // A pipeline ends also when the connection breaks; a pipe would wait for ever then.
        response.body = Readable.from(
          atPace(
            pipeline(response.body, bounded(), () => undefined),
            pace,
          ),
        );
      return sent;
    },
  });
}

/** Ends a request whose answer has not begun in time. */
function lateAfter(seconds: number) {
  const late = new AbortController();
  const end = () =>
    late.abort(new DomainError("cloud.failed", `The S3 storage cannot be used: no answer within ${seconds} seconds.`));
  const timer = setTimeout(end, seconds * 1000).unref();
  return { signal: late.signal, answered: () => clearTimeout(timer) };
}

function bounded(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= ANSWER_BYTES_MAX) return done(null, chunk);
      done(
        new DomainError("cloud.failed", "The S3 storage cannot be used: it answered more than any S3 storage does."),
      );
    },
  });
}

/** A page of a list and an error are smaller. The client takes half a second to parse 4 MB. */
const ANSWER_BYTES_MAX = 128 << 10;
/** One object has one, or a few after failures. */
const UPLOADS_MAX = 50;

/** A little later: the caller that broke it off waits for its end. */
function overAfter(signal: AbortSignal): AbortSignal {
  const over = new AbortController();
  const end = () => setTimeout(() => over.abort(), REMOVAL_MS_MAX).unref();
  if (signal.aborted) over.abort();
  else signal.addEventListener("abort", end, { once: true });
  return over.signal;
}

const REMOVAL_MS_MAX = 1000;

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
      const socket = connect(options, callback);
      socket?.once("connect", () => {
        if (!mayUse(socket as Socket, host, allowed)) socket.destroy(privateAddress(host, host));
      });
      return socket;
    },
  });
  return agent;
}

const privateAddress = (host: string, address: string) =>
  new DomainError("cloud.refused", privateAddressProblem(host, address));

function storageError({ name, bucket }: Bucket, cause: unknown, signal: AbortSignal): DomainError {
  const own = causesOf(cause).find((one) => isDomainError(one));
  if (own !== undefined) return own;
  if (signal.aborted) return new DomainError("deploy.cancelled", "The work was cancelled.", { cause });
  const code = cause instanceof Error ? cause.name : "";
  if (code === "NoSuchKey" || code === "NotFound") return notFound("Object");
  const known = KNOWN[code] ?? UNREACHED[systemCode(cause) ?? ""];
  const words = cause instanceof Error ? `: ${shortened(cause.message)}` : "";
  const reason = known?.(bucket) ?? `it answered ${shortened(code) || "nothing"}${words}`;
  return new DomainError("cloud.failed", `The S3 storage ${name} cannot be used: ${reason}.`, { cause });
}

/** A storage writes these texts, and they are stored with the backup. */
const shortened = (text: string): string => (text.length > WORDS_MAX ? `${text.slice(0, WORDS_MAX)}…` : text);
const WORDS_MAX = 300;

/** By the names that S3 gives them. */
const KNOWN: Readonly<Record<string, (bucket: string) => string>> = {
  NoSuchBucket: (bucket) => `it has no bucket ${bucket}`,
  AccessDenied: (bucket) => `the key may not use the bucket ${bucket}`,
  InvalidAccessKeyId: () => "it does not know the key",
  SignatureDoesNotMatch: () => "the secret is wrong",
};

/** By the codes of Node, for a storage that has not answered at all. */
const UNREACHED: Readonly<Record<string, () => string>> = {
  ECONNREFUSED: () => "nothing listens at its endpoint",
  ENOTFOUND: () => "no host has the name of its endpoint",
  EAI_AGAIN: () => "the name of its endpoint cannot be looked up at the moment",
  ETIMEDOUT: () => "its endpoint does not answer",
  EHOSTUNREACH: () => "no route to its endpoint",
  ENETUNREACH: () => "no route to its endpoint",
};

function systemCode(cause: unknown): string | undefined {
  for (const one of causesOf(cause)) {
    if (one instanceof Error && "code" in one && typeof one.code === "string") return one.code;
  }
  return undefined;
}

function causesOf(error: unknown): readonly unknown[] {
  const causes: unknown[] = [];
  for (let one = error; one !== undefined && causes.length < 8; one = one instanceof Error ? one.cause : undefined) {
    causes.push(one);
  }
  return causes;
}
