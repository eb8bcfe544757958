import { z } from "zod";
import { ResourceName } from "../name.ts";
import { Email } from "./member.ts";

export const AccountUpdate = z.strictObject({
  name: ResourceName.optional(),
  email: Email.optional().describe("What one signs in with, and is invited by."),
});
export type AccountUpdate = z.infer<typeof AccountUpdate>;
