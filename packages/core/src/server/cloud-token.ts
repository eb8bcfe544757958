import { z } from "zod";
import { ResourceName } from "../name.ts";
import type { CloudTokenRecord } from "../ports/cloud-token.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { CLOUD_PROVIDERS, type CloudProviderKind } from "./cloud-provider-kind.ts";

// `Object.keys` has a wider type: these are the keys of the table.
const PROVIDERS = Object.keys(CLOUD_PROVIDERS) as [CloudProviderKind, ...CloudProviderKind[]];

export const CloudTokenCreate = z.strictObject({
  provider: z.enum(PROVIDERS).describe("Provider of the token."),
  token: z
    .string()
    .trim()
    .min(1, "This field is required.")
    .max(4096, "At most 4096 characters.")
    .regex(/^[\x21-\x7e]*$/, "Must be the token as the provider shows it, without spaces.")
    .describe("The token itself. It is checked with the provider, stored encrypted and never returned."),
  name: ResourceName.describe("Shown in lists."),
});
export type CloudTokenCreate = z.infer<typeof CloudTokenCreate>;

export const CloudTokenUpdate = z.strictObject({ name: ResourceName });
export type CloudTokenUpdate = z.infer<typeof CloudTokenUpdate>;

export const CloudToken = z
  .object({
    uuid: z.string(),
    name: z.string().nullable(),
    provider: z.enum(PROVIDERS),
    team_id: z.int(),
    servers_count: z.int().describe("Number of servers created with it; it cannot be deleted while there are any."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "CloudToken", description: "A token of a cloud provider. The token itself is never returned." });
export type CloudToken = z.infer<typeof CloudToken>;

export const CloudTokenValidity = z
  .object({ valid: z.boolean().describe("Whether the provider accepts it."), message: z.string() })
  .meta({ id: "CloudTokenValidity", description: "The result of checking a token with its provider." });
export type CloudTokenValidity = z.infer<typeof CloudTokenValidity>;

export const cloudTokenView = (token: CloudTokenRecord): CloudToken => ({
  uuid: token.uuid,
  name: token.name,
  provider: token.provider,
  team_id: token.team_id,
  servers_count: token.servers_count,
  created_at: timestamp(token.created_at),
  updated_at: timestamp(token.updated_at),
});

/** How a request selects its token. */
export const cloudTokenFields = {
  cloud_provider_token_uuid: z
    .string()
    .max(255)
    .nullable()
    .optional()
    .describe("The token to use. Required, unless cloud_provider_token_id is sent."),
  cloud_provider_token_id: z
    .string()
    .max(255)
    .nullable()
    .optional()
    .meta({
      deprecated: true,
      description:
        "Deprecated: replaced by cloud_provider_token_uuid, of which it is the older name. It contains the same uuid, not a " +
        "number, and is ignored if the newer one is sent.",
    }),
} as const;
