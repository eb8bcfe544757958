import { z } from "zod";

/** Limit of the input of one request, in characters. */
export const CLIENT_INPUT_MAX = 1_048_576;
/** Limit of the output in an answer, in bytes. */
export const CLIENT_OUTPUT_MAX = 1_048_576;
/** Time limit of the client. */
export const CLIENT_SECONDS_MAX = 300;

export const DatabaseStatements = z.strictObject({
  statements: z
    .string()
    .min(1, "This field is required.")
    .max(CLIENT_INPUT_MAX, `At most ${CLIENT_INPUT_MAX} characters.`)
    .describe("Input of the client: SQL, or commands of Redis, one per line."),
});
export type DatabaseStatements = z.infer<typeof DatabaseStatements>;

export const ClientRun = z
  .object({
    client: z.string().describe("The program that read the input."),
    exit_code: z.int(),
    output: z.string(),
    errors: z.string().describe("The last lines of its standard error."),
    is_truncated: z
      .boolean()
      .describe(`The output was longer than ${CLIENT_OUTPUT_MAX} bytes; only its beginning is returned.`),
  })
  .meta({ id: "ClientRun", description: "Output of a database's client." });
export type ClientRun = z.infer<typeof ClientRun>;
