import { z } from "zod";
import { flag } from "../input.ts";

export const ResourceMove = z.strictObject({
  environment_uuid: z.string().describe("The environment to move to, of any project of the team."),
  force: flag(
    "Move it even if variables lose what they reference, or resources the database that they reference. Default false.",
  ),
});
export type ResourceMove = z.infer<typeof ResourceMove>;

export const ResourceMoved = z
  .object({
    message: z.string(),
    uuid: z.string(),
    project_uuid: z.string(),
    environment_uuid: z.string(),
  })
  .meta({ id: "ResourceMoved", description: "Where a resource is after its move." });
export type ResourceMoved = z.infer<typeof ResourceMoved>;
