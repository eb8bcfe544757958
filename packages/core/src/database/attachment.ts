import { z } from "zod";
import { EnvCreate } from "../env/env.ts";
import { databaseReference, isReferable, referenceText } from "../env/env-value.ts";
import type { DatabaseRecord } from "../ports/database.ts";
import { RESOURCE_KINDS, type ResourceKind } from "../resource/resource.ts";
import { DATABASE_ROUTES } from "./database-address.ts";

const KINDS = Object.keys(RESOURCE_KINDS) as [ResourceKind, ...ResourceKind[]];

/** Name of the variable that gets the URL. */
const variableName = EnvCreate.shape.key;
export const DEFAULT_VARIABLE = "DATABASE_URL";

export const DatabaseAttach = z.strictObject({
  resource_uuid: z.string().describe("The application, service or database of the same environment that uses it."),
  as: variableName.optional().describe(`The variable that gets its URL. Default ${DEFAULT_VARIABLE}.`),
});
export type DatabaseAttach = z.infer<typeof DatabaseAttach>;

export const DatabaseDetach = z.strictObject({
  resource_uuid: z.string().describe("The resource to detach it from."),
  as: variableName
    .optional()
    .describe(
      "Only this variable. Default: all variables that contain the database's URL, or a part of it, and nothing else.",
    ),
});
export type DatabaseDetach = z.infer<typeof DatabaseDetach>;

export const Attachment = z
  .object({
    database_uuid: z.string(),
    database_name: z.string(),
    resource_uuid: z.string(),
    resource_name: z.string(),
    resource_type: z.enum(KINDS),
    key: z.string().describe("The variable that references the database."),
    is_preview: z.boolean(),
    reference: z.string().describe("The reference in the variable's value."),
    route: z
      .enum(DATABASE_ROUTES)
      .nullable()
      .describe("How it is reached: in its network, by a port of the same machine, or by its public port."),
    problem: z
      .string()
      .nullable()
      .describe("Why it cannot be reached, and what to do. Deployments fail with this message."),
  })
  .meta({ id: "Attachment", description: "A variable of a resource that gets the URL of a database." });
export type Attachment = z.infer<typeof Attachment>;

/** The name for references to the database; its uuid if the name is not unique, or invalid in references. */
export const referableName = (
  { uuid, name }: Pick<DatabaseRecord, "uuid" | "name">,
  namesakes: readonly Pick<DatabaseRecord, "uuid">[],
): string => (isReferable(name) && namesakes.every((other) => other.uuid === uuid) ? name : uuid);

export const databaseReferenceText = (name: string): string => referenceText(databaseReference(name));
