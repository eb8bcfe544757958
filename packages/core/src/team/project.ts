import { z } from "zod";
import { ProjectDescription, ProjectName } from "../name.ts";
import type { EnvironmentRecord, ProjectRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";
import { Environment, environmentView } from "./environment.ts";

export const ProjectCreate = z.strictObject({ name: ProjectName, description: ProjectDescription.optional() });
export type ProjectCreate = z.infer<typeof ProjectCreate>;

export const ProjectUpdate = z.strictObject({
  name: ProjectName.nullable().optional().describe("Null keeps the name."),
  description: ProjectDescription.optional(),
});
export type ProjectUpdate = z.infer<typeof ProjectUpdate>;

export const ProjectSummary = z
  .object({ id: z.int(), uuid: z.string(), name: z.string(), description: z.string().nullable() })
  .meta({ id: "ProjectSummary", description: "A project in a list, without its environments." });
export type ProjectSummary = z.infer<typeof ProjectSummary>;

export const ProjectChanged = z
  .object({ uuid: z.string(), name: z.string(), description: z.string().nullable() })
  .meta({ id: "ProjectChanged", description: "A project after a change." });

export const Project = z
  .object({
    id: z.int(),
    uuid: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    team_id: z.int(),
    environments: z.array(Environment),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Project", description: "Groups environments that belong together." });
export type Project = z.infer<typeof Project>;

export const projectSummary = ({ id, uuid, name, description }: ProjectRecord): ProjectSummary => ({
  id,
  uuid,
  name,
  description,
});

export const projectView = (project: ProjectRecord, environments: readonly EnvironmentRecord[]): Project => ({
  ...projectSummary(project),
  team_id: project.team_id,
  environments: environments.map(environmentView),
  created_at: timestamp(project.created_at),
  updated_at: timestamp(project.updated_at),
});
