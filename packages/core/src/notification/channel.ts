import { z } from "zod";
import { inputShape } from "../input.ts";
import { isPrivateWay, PRIVATE_WAY_PROBLEM } from "../origin-credential.ts";

/** What a team can be notified of, and whether a new channel is. Their names are those of the settings. */
export const NOTIFICATION_EVENTS = {
  deployment_success: false,
  deployment_failure: true,
  status_change: false,
  backup_success: false,
  backup_failure: true,
  scheduled_task_success: false,
  scheduled_task_failure: true,
  docker_cleanup_success: false,
  docker_cleanup_failure: true,
  server_disk_usage: true,
  server_reachable: false,
  server_unreachable: true,
  server_patch: true,
  traefik_outdated: true,
} as const;
export type NotificationEvent = keyof typeof NOTIFICATION_EVENTS;

// `Object.keys` has a wider type: these are the keys of the table.
const EVENTS = Object.keys(NOTIFICATION_EVENTS) as readonly NotificationEvent[];

export const CHANNEL_KINDS = ["email", "discord", "slack", "telegram", "pushover", "webhook"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

const EVENT_TEXT: Record<NotificationEvent, string> = {
  deployment_success: "a finished deployment",
  deployment_failure: "a failed deployment",
  status_change: "a resource that becomes unhealthy, or healthy again",
  backup_success: "a finished backup",
  backup_failure: "a failed backup, or a failed drill of one",
  scheduled_task_success: "a finished scheduled task",
  scheduled_task_failure: "a failed scheduled task",
  docker_cleanup_success: "a finished cleanup of a server",
  docker_cleanup_failure: "a failed cleanup of a server",
  server_disk_usage: "a disk that is nearly full",
  server_reachable: "a server that answers again",
  server_unreachable: "a server that does not answer",
  server_patch: "patches of a server. Berth does not look for them yet",
  traefik_outdated: "an outdated Traefik. Berth does not look for it yet",
};

type EventFields<Kind extends ChannelKind> = {
  [Event in NotificationEvent as `${Event}_${Kind}_notifications`]: z.ZodDefault<z.ZodBoolean>;
};

const eventFields = <Kind extends ChannelKind>(kind: Kind): EventFields<Kind> =>
  Object.fromEntries(
    EVENTS.map((event) => {
      const isOn = NOTIFICATION_EVENTS[event] && !(kind === "webhook" && event === "server_patch");
      return [`${event}_${kind}_notifications`, flag(isOn).describe(`Notifies of ${EVENT_TEXT[event]}.`)];
    }),
    // Has one field for each event, as the type says.
  ) as EventFields<Kind>;

const flag = (isOn: boolean) => z.boolean().default(isOn);
const textOrNull = (lengthMax = 255) =>
  z.string().max(lengthMax, `At most ${lengthMax} characters.`).nullable().default(null);

const url = (isSecret: boolean) =>
  z
    .url({ protocol: /^https?$/, error: "Must be an http or https URL." })
    .max(2048, "At most 2048 characters.")
    .refine((text) => !hasLogin(text), "Must not contain a user or password.")
    .refine((text) => !isSecret || !URL.canParse(text) || isPrivateWay(text), PRIVATE_WAY_PROBLEM)
    .nullable()
    .default(null);

function hasLogin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== "" || password !== "";
}

type ThreadFields = {
  [Event in NotificationEvent as `telegram_notifications_${Event}_thread_id`]: typeof threadId;
};
const threadId = z
  .string()
  .max(255)
  .regex(/^\d{1,15}$/, "Must be a number.")
  .nullable()
  .default(null);
const THREAD_FIELDS = Object.fromEntries(
  EVENTS.map((event) => [
    `telegram_notifications_${event}_thread_id`,
    threadId.describe(`Topic of the group for notifications of ${EVENT_TEXT[event]}.`),
  ]),
  // Has one field for each event, as the type says.
) as ThreadFields;

/** The settings of each kind of channel: what is stored, answered and accepted. */
export const CHANNEL_FIELDS = {
  email: {
    smtp_enabled: flag(false).describe("Sends by the mail server of the `smtp_` fields."),
    smtp_from_address: z.email("Must be an e-mail address.").max(255).nullable().default(null).describe("Sender."),
    smtp_from_name: textOrNull().describe("Name of the sender."),
    smtp_recipients: textOrNull(1000).describe(
      "Addresses, separated by commas. Without any, all members of the team get the mail; by the instance's own mail server only they do.",
    ),
    smtp_host: textOrNull().describe("Name or address of the mail server."),
    smtp_port: z.int().min(1).max(65_535).nullable().default(null),
    smtp_encryption: z
      .enum(["starttls", "tls", "none"])
      .nullable()
      .default(null)
      .describe("`starttls` is required of the server; `none` sends a password to the loopback only."),
    smtp_username: textOrNull(),
    smtp_password: textOrNull(),
    smtp_timeout: z.int().min(0).max(60).nullable().default(null).describe("Seconds. Default: 15."),
    smtp_ehlo_domain: z
      .string()
      .max(255)
      .regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/, "Must be a host name.")
      .nullable()
      .default(null)
      .describe("Name that Berth greets the mail server with."),
    resend_enabled: flag(false).describe("Sends by Resend, with `resend_api_key` and `smtp_from_address`."),
    resend_api_key: textOrNull(),
    use_instance_email_settings: flag(false).describe("Sends by the mail server of the instance, if it has one."),
    ...eventFields("email"),
  },
  discord: {
    discord_enabled: flag(false),
    discord_webhook_url: url(true).describe("URL of a webhook, as Discord shows it under Integrations."),
    discord_ping_enabled: flag(true).describe("Mentions everyone who is there (`@here`) for failures."),
    ...eventFields("discord"),
  },
  slack: {
    slack_enabled: flag(false),
    slack_webhook_url: url(true).describe("URL of an incoming webhook, as Slack shows it."),
    ...eventFields("slack"),
  },
  telegram: {
    telegram_enabled: flag(false),
    telegram_token: textOrNull().describe("Token of a bot."),
    telegram_chat_id: textOrNull().describe("Chat, group or channel that the bot is in."),
    ...eventFields("telegram"),
    ...THREAD_FIELDS,
  },
  pushover: {
    pushover_enabled: flag(false),
    pushover_user_key: textOrNull(),
    pushover_api_token: textOrNull(),
    ...eventFields("pushover"),
  },
  webhook: {
    webhook_enabled: flag(false),
    webhook_url: url(false).describe("Gets a POST with JSON for each notification."),
    webhook_secret: textOrNull().describe(
      "Signs each body: `X-Berth-Signature-256` is then `sha256=` and its HMAC-SHA256 in hexadecimal.",
    ),
    ...eventFields("webhook"),
  },
} as const;

export type ChannelFields = typeof CHANNEL_FIELDS;
export type ChannelSettings<Kind extends ChannelKind = ChannelKind> = Kind extends ChannelKind
  ? z.infer<z.ZodObject<ChannelFields[Kind]>>
  : never;

/** Hidden from callers who may not read secrets. */
export const isChannelSecret = (field: string): boolean =>
  /^(smtp_(from_address|from_name|recipients|host|username|password)|resend_api_key|telegram_(token|chat_id)|.*_thread_id|pushover_(user_key|api_token)|.*webhook_url|webhook_secret)$/.test(
    field,
  );

type Inner<Field> = Field extends z.ZodDefault<infer Value extends z.ZodType> ? Value : never;
type ChannelShape<Kind extends ChannelKind> = {
  [Field in keyof ChannelFields[Kind]]: z.ZodOptional<Inner<ChannelFields[Kind][Field]>>;
};

function viewOf<Kind extends ChannelKind>(kind: Kind) {
  const shape = Object.fromEntries(
    Object.entries(CHANNEL_FIELDS[kind]).map(([name, field]) => {
      const inner = field.unwrap() as z.ZodType;
      if (!isChannelSecret(name))
        return [name, field.description === undefined ? inner : inner.describe(field.description)];
      const about = [field.description, "Absent without read:sensitive."].filter(Boolean).join(" ");
      return [name, inner.optional().describe(about)];
    }),
    // Has the fields of the kind, as the type says.
  ) as unknown as ChannelShape<Kind>;
  return z.object({ id: z.int(), team_id: z.int(), ...shape, message: z.string().optional() }).meta({
    id: `${kind[0]?.toUpperCase()}${kind.slice(1)}Notifications`,
    description: "How and of what the team is notified. Secrets are absent without `read:sensitive`.",
  });
}

/** What callers get of each kind. */
export const CHANNEL_VIEWS = {
  email: viewOf("email"),
  discord: viewOf("discord"),
  slack: viewOf("slack"),
  telegram: viewOf("telegram"),
  pushover: viewOf("pushover"),
  webhook: viewOf("webhook"),
} as const;
export type ChannelView<Kind extends ChannelKind = ChannelKind> = z.infer<(typeof CHANNEL_VIEWS)[Kind]>;

const updateOf = <Kind extends ChannelKind>(kind: Kind) =>
  z.strictObject(
    inputShape<ChannelFields[Kind]>(CHANNEL_FIELDS[kind], defaultsOf(kind), (name) => !/password/.test(name)),
  );

/** What callers send: a field that is missing stays, null is its default. */
export const CHANNEL_UPDATES = {
  email: updateOf("email"),
  discord: updateOf("discord"),
  slack: updateOf("slack"),
  telegram: updateOf("telegram"),
  pushover: updateOf("pushover"),
  webhook: updateOf("webhook"),
} as const;

/** The settings of a channel that nobody has changed. */
export function defaultsOf<Kind extends ChannelKind>(kind: Kind): ChannelSettings<Kind> {
  // Every field has a default.
  return z.object(CHANNEL_FIELDS[kind]).parse({}) as ChannelSettings<Kind>;
}

/** Settings as they were stored, by whatever release; fields that were added since have their defaults. */
export const storedSettings = <Kind extends ChannelKind>(kind: Kind, stored: object): ChannelSettings<Kind> => ({
  ...defaultsOf(kind),
  ...stored,
});

/** The name of a field where its channel is known: `enabled` of `discord_enabled`. */
export function channelFlag(kind: ChannelKind, field: string): string {
  const ends = [`${kind}_notifications_`, `_${kind}_notifications`, `${kind}_`];
  return ends.reduce((rest, end) => rest.replace(end, ""), field);
}
