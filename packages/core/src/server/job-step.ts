import { z } from "zod";

export const JOB_STEP_RESULTS = ["passed", "warned", "failed"] as const;

export const JobStep = z
  .object({
    name: z.string().describe("What was checked."),
    result: z.enum(JOB_STEP_RESULTS).describe("`warned`: the server can be used all the same."),
    message: z.string().describe("What was found, or what is wrong and what to do."),
  })
  .meta({ id: "JobStep", description: "A check of a server's validation, with its result." });
export type JobStep = z.infer<typeof JobStep>;
