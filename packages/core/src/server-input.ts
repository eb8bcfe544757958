import { z } from "zod";
import { FREQUENCY_PROBLEM, isFrequency } from "./cron.ts";
import { lenient } from "./input.ts";
import { ResourceDescription, ResourceName } from "./name.ts";
import { ServerSettings } from "./server.ts";

const PROXY_TYPES = ["traefik", "caddy", "nginx", "none"] as const;

const ProxyType = z.preprocess(
  (value) => (typeof value === "string" ? value.toLowerCase() : value),
  z.enum(PROXY_TYPES),
);

const Address = z
  .string()
  .max(255)
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/,
    "Must be an IP address or a host name.",
  );

const settings = ServerSettings.shape;

/** What of a server's settings a request may change; null keeps what is. */
const SETTABLE = {
  concurrent_builds: lenient(settings.concurrent_builds.unwrap()).nullable().optional(),
  dynamic_timeout: lenient(settings.dynamic_timeout.unwrap()).nullable().optional(),
  deployment_queue_limit: lenient(settings.deployment_queue_limit.unwrap()).nullable().optional(),
  server_disk_usage_notification_threshold: lenient(settings.server_disk_usage_notification_threshold.unwrap())
    .nullable()
    .optional(),
  server_disk_usage_check_frequency: z
    .string()
    .max(255)
    .refine(isFrequency, FREQUENCY_PROBLEM)
    .nullable()
    .optional()
    .describe("Cron expression, or one of hourly, daily, weekly, monthly, yearly."),
  connection_timeout: lenient(settings.connection_timeout.unwrap()).nullable().optional(),
  is_build_server: lenient(settings.is_build_server.unwrap()).nullable().optional(),
  is_terminal_enabled: lenient(settings.is_terminal_enabled.unwrap()).nullable().optional(),
  wildcard_domain: lenient(settings.wildcard_domain.unwrap().refine(isHttpUrlOrNull, "Must be an http or https URL."))
    .optional()
    .describe("URL that generated domains hang below, e.g. https://apps.example.com."),
} as const;

/** Null or absent keeps what is, except for the description. */
export const ServerUpdate = z.strictObject({
  name: ResourceName.nullable().optional(),
  description: ResourceDescription.optional(),
  ip: Address.nullable().optional().describe("IP address or host name."),
  port: lenient(z.int().min(1).max(65535)).nullable().optional().describe("Port of SSH."),
  user: z
    .string()
    .max(255)
    .regex(/^[A-Za-z0-9._-]+$/)
    .nullable()
    .optional()
    .describe("Login of SSH."),
  private_key_uuid: z.string().max(255).nullable().optional().describe("Key of SSH."),
  proxy_type: ProxyType.nullable().optional().describe("In any case of letters."),
  instant_validate: lenient(z.boolean()).nullable().optional().describe("Validate the server at once."),
  ...SETTABLE,
});
export type ServerUpdate = z.infer<typeof ServerUpdate>;

/** The settings among what was sent. */
export function serverSettingsChange(sent: ServerUpdate): Partial<ServerSettings> {
  const change = Object.entries(sent).filter(
    ([key, value]) => key in SETTABLE && value !== undefined && (value !== null || key === "wildcard_domain"),
  );
  // The keys are those of SETTABLE, whose schemas are those of the settings.
  return Object.fromEntries(change) as Partial<ServerSettings>;
}

function isHttpUrlOrNull(text: string | null): boolean {
  return text === null || (/^https?:\/\//i.test(text) && URL.canParse(text));
}
