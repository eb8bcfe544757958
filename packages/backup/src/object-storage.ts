import { type AgentOptions, type ClientRequestArgs, Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { isIP, type Socket } from "node:net";
import { Readable, Transform } from "node:stream";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { DomainError, isDomainError, notFound, type OriginCredential } from "@berth/core";
import type { ObjectStorage, S3Credentials, S3StorageRecord } from "@berth/core/ports";
import { guardedLookup, mayConnect, mayUse, type PrivateHosts } from "@berth/host";

export interface ObjectStorageOptions {
  readonly allowedPrivateHosts: PrivateHosts;
}

type Bucket = Pick<S3StorageRecord, "name" | "endpoint" | "bucket" | "region">;

/** A bucket of a service with the S3 API. Connections to private addresses are refused unless allowed. */
export function objectStorage(
  { allowedPrivateHosts }: ObjectStorageOptions,
  storage: Bucket,
  credential: OriginCredential<S3Credentials>,
): ObjectStorage {
  const Bucket = storage.bucket;
  const login = credential.for(storage.endpoint);
  if (login === undefined) throw noCredential(storage);
  const { key, secret } = login;
  const client = (signal: AbortSignal) => {
    const s3 = new S3Client({
      endpoint: storage.endpoint,
      region: storage.region,
      credentials: { accessKeyId: key, secretAccessKey: secret },
      // Every service supports this: hosts by bucket need DNS names that many services do not have.
      forcePathStyle: true,
      // Many services do not know the newer checksums; uploads are read back and compared anyway.
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
    endWith(signal, s3);
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
        yield* Body;
      } catch (cause) {
        throw storageError(storage, cause, signal);
      } finally {
        s3.destroy();
      }
    },
    remove: (name, signal) =>
      using(async (s3) => {
        await s3.send(new DeleteObjectCommand({ Bucket, Key: name }));
        // Parts of an interrupted upload are not an object, but still cost money. Not every service can list them.
        const listed = await s3.send(new ListMultipartUploadsCommand({ Bucket, Prefix: name })).catch(() => undefined);
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
/** S3 allows 10,000; a few are left for content that grew. */
const PARTS_MAX = 9_900;

/** Size of one part. Several are in memory at a time, so parts are enlarged only if there would be too many. */
export const partBytes = (sizeBytes: number): number => Math.max(PART_BYTES_MIN, Math.ceil(sizeBytes / PARTS_MAX));

/**
 * Aborts every request of the client, even its internal ones: an upload ignores the signal and repeats interrupted
 * requests. Requests that delete its parts are still allowed.
 */
function endWith(signal: AbortSignal, { config: { requestHandler } }: S3Client): void {
  const handle = requestHandler.handle.bind(requestHandler);
  const over = overAfter(signal);
  Object.assign(requestHandler, {
    async handle(...[request, options]: Parameters<typeof handle>) {
      const sent = await handle(request, { ...options, abortSignal: request.method === "DELETE" ? over : signal });
      const { response } = sent;
      const isObject = request.method === "GET" && response.statusCode < 300 && request.query?.uploads === undefined;
      // The client keeps any answer in memory that is not an object.
      if (!isObject && response.body instanceof Readable) response.body = response.body.pipe(bounded());
      return sent;
    },
  });
}

function bounded(): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= ANSWER_BYTES_MAX) return done(null, chunk);
      done(new DomainError("cloud.failed", "The S3 storage cannot be used: its answer is too large."));
    },
  });
}

/** Pages of lists and errors are far smaller. */
const ANSWER_BYTES_MAX = 4 << 20;

/** Aborts somewhat later, since the caller that aborts waits for the removal. */
function overAfter(signal: AbortSignal): AbortSignal {
  const over = new AbortController();
  const end = () => setTimeout(() => over.abort(), REMOVAL_MS_MAX).unref();
  if (signal.aborted) over.abort();
  else signal.addEventListener("abort", end, { once: true });
  return over.signal;
}

const REMOVAL_MS_MAX = 1000;

/** Checked for each connection, since a name may have resolved to another address before. */
function guarded<T extends HttpAgent>(Base: new (options: AgentOptions) => T, allowed: PrivateHosts): T {
  const agent = new Base({ keepAlive: true, lookup: guardedLookup(allowed, privateAddress) });
  const connect = agent.createConnection.bind(agent);
  Object.assign(agent, {
    createConnection(options: ClientRequestArgs, callback: (error: Error | null) => void) {
      const host = (options.host ?? "").replace(/^\[|\]$/g, "");
      // A literal address is never resolved, so it is checked here.
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
  new DomainError(
    "cloud.refused",
    `${host} is a private address or this machine (${address}), which this instance does not call. Ask its operator to allow the host, or use one that is public.`,
  );

const noCredential = ({ name, endpoint }: Bucket) =>
  new DomainError(
    "cloud.refused",
    `The key and secret of the S3 storage ${name} are not for ${endpoint}. Send both again; an endpoint beyond loopback must begin with https://.`,
  );

function storageError({ name, bucket }: Bucket, cause: unknown, signal: AbortSignal): DomainError {
  const own = causesOf(cause).find((one) => isDomainError(one));
  if (own !== undefined) return own;
  if (signal.aborted) return new DomainError("deploy.cancelled", "The work was cancelled.", { cause });
  const code = cause instanceof Error ? cause.name : "";
  if (code === "NoSuchKey" || code === "NotFound") return notFound("Object");
  const known = KNOWN[code] ?? UNREACHED[systemCode(cause) ?? ""];
  const reason =
    known?.(bucket) ?? `it answered ${code || "nothing"}${cause instanceof Error ? `: ${cause.message}` : ""}`;
  return new DomainError("cloud.failed", `The S3 storage ${name} cannot be used: ${reason}.`, { cause });
}

/** By the error names of S3. */
const KNOWN: Readonly<Record<string, (bucket: string) => string>> = {
  NoSuchBucket: (bucket) => `it has no bucket ${bucket}`,
  AccessDenied: (bucket) => `the key may not use the bucket ${bucket}`,
  InvalidAccessKeyId: () => "it does not know the key",
  SignatureDoesNotMatch: () => "the secret is wrong",
};

/** By the error codes of Node, if the storage has not answered at all. */
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
