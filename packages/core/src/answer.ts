import { z } from "zod";

export const Message = z
  .object({ message: z.string().describe("What was done, for people.") })
  .meta({ id: "Message", description: "What was done." });

export const CreatedUuid = z
  .object({ uuid: z.string().describe("Names the object from now on.") })
  .meta({ id: "CreatedUuid", description: "The uuid of what was created or changed." });
