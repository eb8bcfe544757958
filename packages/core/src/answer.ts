import { z } from "zod";

export const Message = z
  .object({ message: z.string().describe("Message for people.") })
  .meta({ id: "Message", description: "What was done." });

export const CreatedUuid = z
  .object({ uuid: z.string().describe("Identifier of the object.") })
  .meta({ id: "CreatedUuid", description: "The uuid of the created or changed object." });
export type CreatedUuid = z.infer<typeof CreatedUuid>;

/** Answer to a change of something that holds a credential. */
export const ChangedCredential = CreatedUuid.extend({
  message: z.string().optional().describe("Only if a credential is missing, since it was for the previous address."),
}).meta({ id: "ChangedCredential", description: "The uuid of the changed object." });
export type ChangedCredential = z.infer<typeof ChangedCredential>;
