import { z } from "zod";
import { LIMIT_SETTINGS } from "../limits.ts";
import { type DatabaseEngine, databaseEngine } from "./database-engine.ts";

/** Settings common to all engines that no query filters by. */
export const DatabaseSettings = z.object({
  image: z
    .string()
    .max(255)
    .regex(/^[\w][\w.\-/:@]*$/, "An image such as postgres:16-alpine.")
    .describe("Image it is started from."),
  public_port_timeout: z
    .int()
    .min(1)
    .nullable()
    .default(3600)
    .describe("Seconds after which an idle connection from outside is closed."),
  ...LIMIT_SETTINGS,
  health_check_enabled: z.boolean().default(true),
  health_check_interval: z.int().min(1).max(3600).default(15).describe("Seconds between two checks."),
  health_check_timeout: z.int().min(1).max(3600).default(5).describe("Seconds one check may take."),
  health_check_retries: z.int().min(1).max(1000).default(5).describe("Failed checks in a row that mean unhealthy."),
  health_check_start_period: z
    .int()
    .min(0)
    .max(3600)
    .default(5)
    .describe("Seconds after the start in which failures do not count."),
});
export type DatabaseSettings = z.infer<typeof DatabaseSettings>;

export const databaseDefaults = (engine: DatabaseEngine): DatabaseSettings =>
  DatabaseSettings.parse({ image: databaseEngine(engine).image });

export const databaseType = (engine: DatabaseEngine) => `standalone-${engine}` as const;
