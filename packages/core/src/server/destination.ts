import { z } from "zod";
import { lenient } from "../input.ts";
import { ResourceName } from "../name.ts";
import type { DestinationRecord } from "../ports/destination.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { ENGINES, type EngineKind } from "./server-settings.ts";

/** Network of a server's first destination. */
export const FIRST_NETWORK = "berth";

export const DESTINATION_TYPES = ["standalone", "swarm"] as const;
export type DestinationType = (typeof DESTINATION_TYPES)[number];

/** The engine's predefined networks do not resolve names of containers, and `host` is the server's own. */
const ENGINES_OWN: ReadonlySet<string> = new Set(["host", "none", "bridge", "default"]);

export const DestinationCreate = z.strictObject({
  name: lenient(ResourceName.nullable()).optional().describe("Default: the network."),
  network: z
    .string()
    .max(255)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, "Only letters, digits and . _ - are allowed, a letter or digit first.")
    .refine((name) => !ENGINES_OWN.has(name), "This network is predefined by the engine. Use another name.")
    .describe("Name of the network, unique on each server."),
  type: lenient(z.enum(DESTINATION_TYPES).nullable()).optional().describe("Default: the type of the server's engine."),
});
export type DestinationCreate = z.infer<typeof DestinationCreate>;

export const DestinationUpdate = z.strictObject({ name: ResourceName });
export type DestinationUpdate = z.infer<typeof DestinationUpdate>;

export const Destination = z
  .object({
    uuid: z.string(),
    name: z.string(),
    network: z.string(),
    type: z.enum(DESTINATION_TYPES),
    server_uuid: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Destination", description: "A Docker network of a server, for resources." });
export type Destination = z.infer<typeof Destination>;

/** The type of destinations on servers with this engine. */
export const destinationType = (engine: EngineKind): DestinationType => ENGINES[engine].destinationType;

export const destinationView = (destination: DestinationRecord): Destination => ({
  uuid: destination.uuid,
  name: destination.name,
  network: destination.network,
  type: destinationType(destination.server_engine),
  server_uuid: destination.server_uuid,
  created_at: timestamp(destination.created_at),
  updated_at: timestamp(destination.updated_at),
});
