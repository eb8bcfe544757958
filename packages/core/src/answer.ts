import { z } from "zod";

export const Message = z
  .object({ message: z.string().describe("What was done, for people.") })
  .meta({ id: "Message", description: "What was done." });

export const CreatedUuid = z
  .object({ uuid: z.string().describe("Names the object from now on.") })
  .meta({ id: "CreatedUuid", description: "The uuid of what was created or changed." });
export type CreatedUuid = z.infer<typeof CreatedUuid>;

/** Answer to a change of something that holds a credential. */
export const ChangedCredential = CreatedUuid.extend({
  message: z.string().optional().describe("Only where a credential is missing: it was for the address before."),
}).meta({ id: "ChangedCredential", description: "The uuid of what was changed." });
export type ChangedCredential = z.infer<typeof ChangedCredential>;
