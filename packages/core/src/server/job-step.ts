import { z } from "zod";

export const JOB_STEP_RESULTS = ["running", "passed", "warned", "failed"] as const;

export const JobStep = z
  .object({
    name: z.string().describe("What was checked, or what is done."),
    result: z
      .enum(JOB_STEP_RESULTS)
      .describe("`running`: it has not ended yet. `warned`: the server can be used all the same."),
    message: z
      .string()
      .describe("What was found, or what is wrong and what to do. Of a step of an installation: its command."),
  })
  .meta({
    id: "JobStep",
    description: "A check of a server's validation, or a step of an installation, with its result.",
  });
export type JobStep = z.infer<typeof JobStep>;
