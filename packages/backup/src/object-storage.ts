import { DomainError, type OriginCredential } from "@berth/core";
import type { ObjectStorage, S3Credentials } from "@berth/core/ports";
import type { Bucket, ObjectStorageOptions } from "./s3.ts";

/**
 * A bucket of a service that speaks the S3 API. It connects to no private address that is not allowed. The library is
 * loaded with the first call, since most instances never make one.
 */
export function objectStorage(
  options: ObjectStorageOptions,
  storage: Bucket,
  credential: OriginCredential<S3Credentials>,
): ObjectStorage {
  const login = credential.for(storage.endpoint);
  if (login === undefined) throw noCredential(storage);
  const opened = async () => (await import("./s3.ts")).s3(options, storage, login);
  return {
    put: async (...given) => await (await opened()).put(...given),
    async *get(...given) {
      yield* (await opened()).get(...given);
    },
    remove: async (...given) => await (await opened()).remove(...given),
  };
}

const noCredential = ({ name, endpoint }: Bucket) =>
  new DomainError(
    "cloud.refused",
    `The key and secret of the S3 storage ${name} are not for ${endpoint}. Send both again; an endpoint beyond loopback must begin with https://.`,
  );
