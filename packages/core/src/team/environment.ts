import { z } from "zod";
import { ProjectDescription, ProjectName } from "../name.ts";
import type { EnvironmentRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

/** Created together with every project. */
export const FIRST_ENVIRONMENT = "production";

export const EnvironmentCreate = z.strictObject({
  name: ProjectName,
  description: ProjectDescription.optional(),
});
export type EnvironmentCreate = z.infer<typeof EnvironmentCreate>;

export const EnvironmentSummary = z
  .object({ id: z.int(), uuid: z.string(), name: z.string() })
  .meta({ id: "EnvironmentSummary", description: "An environment in a list." });

export const Environment = z
  .object({
    id: z.int(),
    uuid: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    project_id: z.int(),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Environment", description: "A part of a project, such as production or staging." });
export type Environment = z.infer<typeof Environment>;

export const environmentView = (environment: EnvironmentRecord): Environment => ({
  id: environment.id,
  uuid: environment.uuid,
  name: environment.name,
  description: environment.description,
  project_id: environment.project_id,
  created_at: timestamp(environment.created_at),
  updated_at: timestamp(environment.updated_at),
});
