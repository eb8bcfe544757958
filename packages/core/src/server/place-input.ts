import { z } from "zod";

/** Fields for the place of a new resource, in the input of every creation. */
export const PLACE_INPUT = {
  project_uuid: z.string().max(255).describe("Project it belongs to."),
  environment_name: z.string().max(255).nullable().optional().describe("This or environment_uuid is required."),
  environment_uuid: z.string().max(255).nullable().optional().describe("This or environment_name is required."),
  server_uuid: z
    .string()
    .max(255)
    .nullable()
    .optional()
    .describe(
      "Server it runs on. Default: Docker on Berth's own machine where it answers, else Berth's own processes.",
    ),
  destination_uuid: z
    .string()
    .max(255)
    .nullable()
    .optional()
    .describe("Required when the server has several destinations."),
};
