import { z } from "zod";
import { ResourceDescription, ResourceName } from "../name.ts";
import type { RegistryRecord } from "../ports/registry.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

/** The name of Docker Hub in images, whatever host serves it. */
export const DOCKER_HUB = "docker.io";
const HUB_HOSTS: ReadonlySet<string> = new Set(["index.docker.io", "registry-1.docker.io", "hub.docker.com"]);

/** The part before the first `/` of an image's name. Drops scheme and path of a pasted URL; lower case. */
export function registryAddress(text: string): string {
  const host =
    text
      .trim()
      .toLowerCase()
      .replace(/^https?:\/\//, "")
      .split("/")[0] ?? "";
  return HUB_HOSTS.has(host) ? DOCKER_HUB : host;
}

const HOST =
  /^(?:\[[0-9a-f:.]+\]|[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*)(?::[0-9]{1,5})?$/;
/** The engine's own rule to distinguish a registry from an owner at Docker Hub. */
const isRegistry = (address: string): boolean =>
  HOST.test(address) && (/[.:]/.test(address) || address === "localhost");

/** The registry in an image's name. */
export function registryOf(image: string): string {
  const [first = "", ...rest] = image.split("/");
  return rest.length > 0 && (/[.:]/.test(first) || first === "localhost") ? registryAddress(first) : DOCKER_HUB;
}

const FIELDS = {
  name: ResourceName.describe("Shown in lists."),
  address: z
    .string()
    .max(2048, "At most 2048 characters.")
    .transform(registryAddress)
    .refine((address) => address.length <= 255 && isRegistry(address), {
      message:
        "Must be the host of a registry as images name it, e.g. ghcr.io, docker.io or registry.example.com:5000.",
    })
    .describe("Host of the registry as images name it, e.g. ghcr.io, docker.io or registry.example.com:5000."),
  username: z
    .string()
    .min(1, "This field is required.")
    .max(255, "At most 255 characters.")
    .regex(/^[^\p{C}:]*$/u, "Must not contain colons or invisible characters.")
    .describe("Name of the user."),
  password: z
    .string()
    .min(1, "This field is required.")
    .max(8192, "At most 8192 characters.")
    .regex(/^[^\r\n\0]*$/, "Must be one line.")
    .describe("Password or access token. Stored encrypted."),
};
const OPTIONAL = { description: ResourceDescription.optional().describe("Free text, shown to the team.") };

export const RegistryCreate = z.strictObject({ ...FIELDS, name: FIELDS.name.optional(), ...OPTIONAL });
export type RegistryCreate = z.infer<typeof RegistryCreate>;

/** Omitted fields keep their values. */
export const RegistryUpdate = z.strictObject({ ...z.object(FIELDS).partial().shape, ...OPTIONAL });
export type RegistryUpdate = z.infer<typeof RegistryUpdate>;

export const Registry = z
  .object({
    uuid: z.string(),
    team_id: z.int(),
    name: z.string(),
    description: z.string().nullable(),
    address: z.string(),
    username: z.string(),
    password: z.string().optional().describe("Absent without read:sensitive."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Registry", description: "A login for a registry of images, for all servers of the team." });
export type Registry = z.infer<typeof Registry>;

/** @param password `undefined` for callers that may not read secrets. */
export const registryView = (registry: RegistryRecord, password: string | undefined): Registry => ({
  uuid: registry.uuid,
  team_id: registry.team_id,
  name: registry.name,
  description: registry.description,
  address: registry.address,
  username: registry.username,
  ...(password === undefined ? {} : { password }),
  created_at: timestamp(registry.created_at),
  updated_at: timestamp(registry.updated_at),
});
