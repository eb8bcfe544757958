import { z } from "zod";
import { ResourceDescription, ResourceName } from "../name.ts";
import type { TeamRecord } from "../ports/records.ts";
import { Timestamp, timestamp } from "../timestamp.ts";

export const TeamCreate = z.strictObject({
  name: ResourceName,
  description: ResourceDescription.optional(),
});
export type TeamCreate = z.infer<typeof TeamCreate>;

export const TeamUpdate = z.strictObject({
  name: ResourceName.optional(),
  description: ResourceDescription.optional(),
  second_factor_required: z.boolean().optional().describe("Sessions need a second factor. Tokens do not."),
});
export type TeamUpdate = z.infer<typeof TeamUpdate>;

export const Team = z
  .object({
    id: z.int().describe("0 is the team that runs the instance."),
    name: z.string(),
    description: z.string().nullable(),
    personal_team: z.boolean(),
    show_boarding: z.boolean(),
    second_factor_required: z.boolean().describe("Whether sessions need a second factor."),
    created_at: Timestamp.nullable(),
    updated_at: Timestamp.nullable(),
  })
  .meta({ id: "Team", description: "Owns projects, servers and tokens." });
export type Team = z.infer<typeof Team>;

export const teamView = (team: TeamRecord): Team => ({
  id: team.id,
  name: team.name,
  description: team.description,
  personal_team: team.personal_team,
  show_boarding: team.show_boarding,
  second_factor_required: team.second_factor_required,
  created_at: timestamp(team.created_at),
  updated_at: timestamp(team.updated_at),
});
