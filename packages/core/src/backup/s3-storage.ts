import { z } from "zod";
import { isPlainHttpUrl, PLAIN_HTTP_URL_PROBLEM } from "../application/http-url.ts";
import { lenient } from "../input.ts";
import { ResourceDescription, ResourceName } from "../name.ts";
import { isPrivateWay, type OriginCredential, PRIVATE_WAY_PROBLEM } from "../origin-credential.ts";
import type { S3Credentials, S3StorageRecord } from "../ports/s3-storage.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

const word = (about: string) =>
  z
    .string()
    .trim()
    .min(1, "This field is required.")
    .max(255, "At most 255 characters.")
    .regex(/^[\x21-\x7e]*$/, "Must contain only ASCII characters, and no spaces.")
    .describe(about);

const FIELDS = {
  name: ResourceName.describe("Shown in lists."),
  endpoint: z
    .string()
    .trim()
    .max(2048, "At most 2048 characters.")
    .refine(isPlainHttpUrl, PLAIN_HTTP_URL_PROBLEM)
    .refine((url) => !isPlainHttpUrl(url) || isPrivateWay(url), PRIVATE_WAY_PROBLEM)
    .describe("URL of the service, e.g. https://s3.eu-central-1.amazonaws.com."),
  bucket: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$/, "Must be the name of a bucket: 3 to 63 letters, digits and . - _.")
    .describe("Name of the bucket."),
  region: word("Region of the bucket, e.g. eu-central-1."),
  key: word("Access key."),
  secret: z
    .string()
    .min(1, "This field is required.")
    .max(4096, "At most 4096 characters.")
    .describe("Secret of the access key. Stored encrypted."),
};

const OPTIONAL = {
  description: ResourceDescription.optional().describe("Free text, shown to the team."),
  is_usable: lenient(z.boolean())
    .optional()
    .describe("Set by its owner or by the last validation; backups are uploaded in either case. Default false."),
};

export const S3StorageCreate = z.strictObject({ ...FIELDS, ...OPTIONAL });
export type S3StorageCreate = z.infer<typeof S3StorageCreate>;

/** Omitted fields keep their values. */
export const S3StorageUpdate = z.strictObject({ ...z.object(FIELDS).partial().shape, ...OPTIONAL });
export type S3StorageUpdate = z.infer<typeof S3StorageUpdate>;

export const S3Storage = z
  .object({
    uuid: z.string(),
    team_id: z.int(),
    name: z.string(),
    description: z.string().nullable(),
    endpoint: z.string(),
    bucket: z.string(),
    region: z.string(),
    is_usable: z.boolean(),
    key: z.string().optional().describe("Absent without read:sensitive."),
    secret: z.string().optional().describe("Absent without read:sensitive."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "S3Storage", description: "A bucket for backups." });
export type S3Storage = z.infer<typeof S3Storage>;

export const S3StorageValidity = z
  .object({ valid: z.boolean().describe("Whether it can be used for backups."), message: z.string() })
  .meta({ id: "S3StorageValidity", description: "Result of testing the bucket." });
export type S3StorageValidity = z.infer<typeof S3StorageValidity>;

/** @param credentials `undefined` for callers that may not read secrets. */
export const s3StorageView = (
  storage: S3StorageRecord,
  credentials: OriginCredential<S3Credentials> | undefined,
): S3Storage => ({
  uuid: storage.uuid,
  team_id: storage.team_id,
  name: storage.name,
  description: storage.description,
  endpoint: storage.endpoint,
  bucket: storage.bucket,
  region: storage.region,
  is_usable: storage.is_usable,
  ...credentials?.for(storage.endpoint),
  created_at: timestamp(storage.created_at),
  updated_at: timestamp(storage.updated_at),
});
