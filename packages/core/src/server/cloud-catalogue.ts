import { z } from "zod";
import { cloudTokenFields } from "./cloud-token.ts";

/** Query of every catalogue operation, without paging. */
export const CloudCatalogueQuery = z.strictObject(cloudTokenFields);
export type CloudCatalogueQuery = z.infer<typeof CloudCatalogueQuery>;

export const CloudLocation = z
  .object({
    id: z.int(),
    name: z.string().describe("The value for `location` of a creation, e.g. fsn1."),
    description: z.string(),
    country: z.string().describe("ISO 3166-1 alpha-2 code."),
    city: z.string(),
    latitude: z.number(),
    longitude: z.number(),
    network_zone: z.string(),
  })
  .meta({ id: "CloudLocation", description: "A place where a provider has machines." });
export type CloudLocation = z.infer<typeof CloudLocation>;

const CloudPrice = z
  .object({
    net: z.string().describe("Decimal number, without VAT."),
    gross: z.string().describe("Decimal number, with VAT."),
  })
  .meta({ id: "CloudPrice", description: "An amount in the currency of the provider's account." });

const CloudServerTypePrice = z
  .object({
    location: z.string().describe("Name of the location that the price applies to."),
    price_hourly: CloudPrice,
    price_monthly: CloudPrice,
    included_traffic: z.number().optional().describe("Bytes per month."),
    price_per_tb_traffic: CloudPrice.optional(),
  })
  .meta({ id: "CloudServerTypePrice", description: "What a type of server costs at one location." });

export const CloudServerType = z
  .object({
    id: z.int(),
    name: z.string().describe("The value for `server_type` of a creation, e.g. cx22."),
    description: z.string(),
    cores: z.int(),
    memory: z.number().describe("GB."),
    disk: z.int().describe("GB."),
    architecture: z.string().optional().describe("x86 or arm: an image must have the same."),
    cpu_type: z.string().optional().describe("shared or dedicated."),
    prices: z.array(CloudServerTypePrice),
    deprecated: z.boolean().describe("Always false: what can no longer be rented is not listed."),
  })
  .meta({ id: "CloudServerType", description: "A size of machine that a provider rents." });
export type CloudServerType = z.infer<typeof CloudServerType>;

export const CloudImage = z
  .object({
    id: z.int().describe("The value for `image` of a creation."),
    name: z.string(),
    description: z.string(),
    type: z.literal("system"),
    os_flavor: z.string(),
    os_version: z.string(),
    architecture: z.string(),
  })
  .meta({ id: "CloudImage", description: "An operating system that a machine can start with." });
export type CloudImage = z.infer<typeof CloudImage>;

export const CloudSshKey = z
  .object({
    id: z.int().describe("The value for `hetzner_ssh_key_ids` of a creation."),
    name: z.string(),
    fingerprint: z.string().describe("MD5, as pairs of hexadecimal digits with colons."),
    public_key: z.string(),
  })
  .meta({ id: "CloudSshKey", description: "A public key stored at the provider." });
export type CloudSshKey = z.infer<typeof CloudSshKey>;
