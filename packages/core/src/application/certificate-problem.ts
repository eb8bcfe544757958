import { z } from "zod";

export const CertificateProblem = z
  .object({
    reason: z.string().describe("What is wrong with the certificate of a URL, and what to do."),
    is_refused: z
      .boolean()
      .describe(
        "Whether browsers refuse the URL now. Otherwise they will soon, or they may get the certificate of another server or of a proxy in front.",
      ),
  })
  .meta({ id: "CertificateProblem", description: "A URL whose certificate is missing, expired or not renewed." });
export type CertificateProblem = z.infer<typeof CertificateProblem>;
