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

export const ResourceMigrate = z.strictObject({
  destination_uuid: z.string().describe("The destination to move to, of any server of the team."),
  migrate_volumes: flag(
    "Off (false): it may start with empty volumes; those that it has stay on the server that it leaves. On (true, the default): with data in volumes it moves only between destinations of one server.",
  ),
});
export type ResourceMigrate = z.infer<typeof ResourceMigrate>;

export const ResourceMigrated = z
  .object({
    message: z.string(),
    uuid: z.string(),
    destination_uuid: z.string(),
    async: z.boolean().describe("Whether it is started there by a deployment that follows."),
    deployment_uuid: z.string().nullable().describe("That deployment."),
    volume_jobs: z.array(z.string()).describe("Always empty: volumes are not copied."),
  })
  .meta({ id: "ResourceMigrated", description: "The new destination of an application." });
export type ResourceMigrated = z.infer<typeof ResourceMigrated>;
