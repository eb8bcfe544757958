import { z } from "zod";
import { lenient } from "../input.ts";

/** Clients compare it number by number, so it begins with three. */
const ReportedVersion = z
  .string()
  .trim()
  .max(64, "At most 64 characters.")
  .regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}(?:[-+][0-9A-Za-z.-]+)?$/, "Must be a version such as 4.1.0.");

export const InstanceSettings = z
  .object({
    version: z.string().describe("Berth's own version."),
    reported_version: z
      .string()
      .nullable()
      .describe("What `GET /version` answers instead. `null`: what `BERTH_REPORTED_VERSION` says, else Berth's own."),
  })
  .meta({ id: "InstanceSettings", description: "Settings of the whole instance." });
export type InstanceSettings = z.infer<typeof InstanceSettings>;

export const InstanceSettingsUpdate = z.strictObject({
  reported_version: lenient(ReportedVersion.nullable())
    .optional()
    .describe("A version such as `4.1.0`, for clients that refuse older ones. `null` removes it."),
});
export type InstanceSettingsUpdate = z.infer<typeof InstanceSettingsUpdate>;
