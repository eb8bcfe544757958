import { z } from "zod";
import { lenient } from "../input.ts";
import { isPrivateWay, originOf } from "../origin-credential.ts";
import type { ServerRecord } from "../ports/records.ts";
import { checkFluentBitParsers, type FluentBitOutput, FluentBitProblem, readFluentBitOutput } from "./fluent-bit.ts";
import { ServerSettings } from "./server-settings.ts";

const flag = z.boolean();
const textOrNull = z.string().nullable();
const secretText = textOrNull.optional().describe("Absent without read:sensitive.");

export const LogDrains = z
  .object({
    is_logdrain_newrelic_enabled: flag,
    logdrain_newrelic_base_uri: textOrNull,
    is_logdrain_axiom_enabled: flag,
    logdrain_axiom_dataset_name: textOrNull,
    is_logdrain_custom_enabled: flag,
    logdrain_newrelic_license_key: secretText,
    logdrain_axiom_api_key: secretText,
    logdrain_custom_config: secretText,
    logdrain_custom_config_parser: secretText,
    problem: textOrNull.describe("Why lines are not delivered at present. Null without a problem."),
  })
  .meta({ id: "LogDrains", description: "Where the log lines of a server's resources are delivered." });
export type LogDrains = z.infer<typeof LogDrains>;

/** It becomes a header, or a part of a path. */
const SafeText = z
  .string()
  .max(255)
  .regex(/^[a-zA-Z0-9_\-.]+$/, "Only letters, digits and _ - . are allowed.")
  .refine((text) => !/^\.+$/.test(text), "Only letters, digits and _ - . are allowed.");

const settings = ServerSettings.shape;
const CONFIG_LENGTH_MAX = 32_768;

/** Null keeps a flag, and removes a value. */
export const LogDrainsUpdate = z.strictObject({
  is_logdrain_newrelic_enabled: lenient(settings.is_logdrain_newrelic_enabled.unwrap())
    .nullable()
    .optional()
    .describe("Deliver to New Relic. Turns the other log drains off: a server has one at a time."),
  logdrain_newrelic_license_key: lenient(SafeText.nullable()).optional().describe("Stored encrypted."),
  logdrain_newrelic_base_uri: lenient(
    settings.logdrain_newrelic_base_uri
      .unwrap()
      .refine(isReceiverUrl, "Must be an https URL without a login; http is for loopback."),
  )
    .optional()
    .describe("Address of New Relic's Log API. Default `https://log-api.newrelic.com/log/v1`."),
  is_logdrain_axiom_enabled: lenient(settings.is_logdrain_axiom_enabled.unwrap())
    .nullable()
    .optional()
    .describe("Deliver to Axiom. Turns the other log drains off."),
  logdrain_axiom_dataset_name: lenient(SafeText.nullable()).optional().describe("Dataset that gets the lines."),
  logdrain_axiom_api_key: lenient(SafeText.nullable())
    .optional()
    .describe("Token that may ingest into the dataset. Stored encrypted."),
  is_logdrain_custom_enabled: lenient(settings.is_logdrain_custom_enabled.unwrap())
    .nullable()
    .optional()
    .describe("Deliver as `logdrain_custom_config` says. Turns the other log drains off."),
  logdrain_custom_config: configText(readFluentBitOutput).describe(
    "Configuration of Fluent Bit in its classic format, with one `[OUTPUT]` of `Name http` or `Name loki`.",
  ),
  logdrain_custom_config_parser: configText(checkFluentBitParsers).describe(
    "Parsers of Fluent Bit. Kept and returned: lines are delivered as they were printed.",
  ),
});
export type LogDrainsUpdate = z.infer<typeof LogDrainsUpdate>;

/** Stored encrypted. */
export interface LogDrainSecrets {
  readonly logdrain_newrelic_license_key: string | null;
  readonly logdrain_axiom_api_key: string | null;
  readonly logdrain_custom_config: string | null;
  readonly logdrain_custom_config_parser: string | null;
}

export const NO_LOG_DRAIN_SECRETS: LogDrainSecrets = {
  logdrain_newrelic_license_key: null,
  logdrain_axiom_api_key: null,
  logdrain_custom_config: null,
  logdrain_custom_config_parser: null,
};

/** Where lines are delivered. */
export type LogDrain =
  | { readonly type: "newrelic"; readonly url: string; readonly licenseKey: string }
  | { readonly type: "axiom"; readonly dataset: string; readonly apiKey: string }
  | { readonly type: "custom"; readonly output: FluentBitOutput };

type DrainSettings = Pick<
  ServerSettings,
  keyof typeof FLAGS | "logdrain_newrelic_base_uri" | "logdrain_axiom_dataset_name"
>;

export const hasLogDrain = (server: Pick<DrainSettings, keyof typeof FLAGS>): boolean =>
  ENABLED.some((name) => server[name]);

/** `undefined`: it is turned off, or a value that it needs is missing. */
export function logDrainOf(server: DrainSettings, secrets: LogDrainSecrets): LogDrain | undefined {
  if (server.is_logdrain_newrelic_enabled) {
    const licenseKey = secrets.logdrain_newrelic_license_key;
    return licenseKey === null
      ? undefined
      : { type: "newrelic", url: server.logdrain_newrelic_base_uri ?? NEW_RELIC_URL, licenseKey };
  }
  if (server.is_logdrain_axiom_enabled) {
    const { logdrain_axiom_api_key: apiKey } = secrets;
    const dataset = server.logdrain_axiom_dataset_name;
    return apiKey === null || dataset === null ? undefined : { type: "axiom", dataset, apiKey };
  }
  const config = server.is_logdrain_custom_enabled ? secrets.logdrain_custom_config : null;
  return config === null ? undefined : { type: "custom", output: readFluentBitOutput(config) };
}

export interface LogDrainsChange {
  readonly settings: DrainSettings;
  readonly secrets: LogDrainSecrets;
  /** By field; empty if the change can be saved. */
  readonly problems: Readonly<Record<string, string[]>>;
}

/** What a server's log drains are after a request. */
export function logDrainsAfter(
  before: { readonly settings: DrainSettings; readonly secrets: LogDrainSecrets },
  sent: LogDrainsUpdate,
): LogDrainsChange {
  const enabled = ENABLED.filter((name) => sent[name] === true);
  const [only, second] = enabled;
  const flags = Object.fromEntries(
    ENABLED.map((name) => [name, only === undefined ? (sent[name] ?? before.settings[name]) : name === only]),
    // Has a flag for each of `ENABLED`.
  ) as Pick<DrainSettings, keyof typeof FLAGS>;
  const settings: DrainSettings = {
    ...flags,
    ...kept(sent, {
      logdrain_newrelic_base_uri: before.settings.logdrain_newrelic_base_uri,
      logdrain_axiom_dataset_name: before.settings.logdrain_axiom_dataset_name,
    }),
  };
  const secrets = kept(sent, before.secrets);
  if (second !== undefined) return { settings, secrets, problems: { [second]: [ONE_DRAIN] } };
  const stranger = strangerProblem(before, sent, settings);
  if (stranger !== undefined) return { settings, secrets, problems: { logdrain_newrelic_license_key: [stranger] } };
  const on = ENABLED.find((name) => settings[name]);
  const values: Readonly<Record<string, unknown>> = { ...settings, ...secrets };
  const missing = on === undefined ? [] : FLAGS[on].filter((name) => values[name] === null);
  return { settings, secrets, problems: Object.fromEntries(missing.map((name) => [name, [`Needed for ${on}.`]])) };
}

/** Who may change the address but not read the key must not be able to send the key to themselves. */
function strangerProblem(
  before: { readonly settings: DrainSettings; readonly secrets: LogDrainSecrets },
  sent: LogDrainsUpdate,
  { logdrain_newrelic_base_uri }: DrainSettings,
): string | undefined {
  if (before.secrets.logdrain_newrelic_license_key === null || sent.logdrain_newrelic_license_key !== undefined) return;
  const [was, is] = [before.settings.logdrain_newrelic_base_uri, logdrain_newrelic_base_uri].map((url) =>
    originOf(url ?? NEW_RELIC_URL),
  );
  return was === is ? undefined : `The stored key is for ${was}. Send it again for ${is}.`;
}

/** @param secrets `undefined`: they are not shown. */
export function logDrainsView(
  { settings: all, log_drain_problem }: Pick<ServerRecord, "settings" | "log_drain_problem">,
  secrets: LogDrainSecrets | undefined,
): LogDrains {
  return {
    is_logdrain_newrelic_enabled: all.is_logdrain_newrelic_enabled,
    logdrain_newrelic_base_uri: all.logdrain_newrelic_base_uri,
    is_logdrain_axiom_enabled: all.is_logdrain_axiom_enabled,
    logdrain_axiom_dataset_name: all.logdrain_axiom_dataset_name,
    is_logdrain_custom_enabled: all.is_logdrain_custom_enabled,
    ...secrets,
    problem: log_drain_problem,
  };
}

/** The sent values, and those before of the others. */
function kept<T extends object>(sent: object, before: T): T {
  const values = new Map<string, unknown>(Object.entries(sent).filter(([, value]) => value !== undefined));
  // Fields of `sent` have the types that they have in T.
  return Object.fromEntries(
    Object.entries(before).map(([key, value]) => [key, values.has(key) ? values.get(key) : value]),
  ) as T;
}

function configText(check: (text: string) => unknown) {
  const text = z
    .string()
    .max(CONFIG_LENGTH_MAX)
    .superRefine((value, context) => {
      try {
        check(value);
      } catch (problem) {
        if (!(problem instanceof FluentBitProblem)) throw problem;
        context.addIssue({ code: "custom", message: problem.message });
      }
    });
  return lenient(text.nullable()).optional();
}

function isReceiverUrl(text: string | null): boolean {
  if (text === null) return true;
  if (!/^https?:\/\/[\x21-\x7e]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username === "" && password === "" && isPrivateWay(text);
}

/** What each log drain needs. */
const FLAGS = {
  is_logdrain_newrelic_enabled: ["logdrain_newrelic_license_key"],
  is_logdrain_axiom_enabled: ["logdrain_axiom_dataset_name", "logdrain_axiom_api_key"],
  is_logdrain_custom_enabled: ["logdrain_custom_config"],
} as const satisfies Record<string, readonly (keyof LogDrainSecrets | "logdrain_axiom_dataset_name")[]>;
// `Object.keys` has a wider type: these are the keys of the table.
const ENABLED = Object.keys(FLAGS) as (keyof typeof FLAGS)[];
const ONE_DRAIN = "A server has one log drain at a time. Enable one of them only.";
const NEW_RELIC_URL = "https://log-api.newrelic.com/log/v1";
