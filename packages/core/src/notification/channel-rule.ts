import type { FieldErrors } from "../errors.ts";
import { sentFields } from "../input.ts";
import { isPrivateWay } from "../origin-credential.ts";
import {
  type ChannelKind,
  type ChannelSettings,
  type ChannelView,
  defaultsOf,
  isChannelSecret,
  NOTIFICATION_EVENTS,
  type NotificationEvent,
} from "./channel.ts";
import { recipientsOf } from "./message.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a channel of each kind needs before it can send, and the fields that turn it on. */
const NEEDED: Record<Exclude<ChannelKind, "email">, readonly string[]> = {
  discord: ["discord_webhook_url"],
  slack: ["slack_webhook_url"],
  telegram: ["telegram_token", "telegram_chat_id"],
  pushover: ["pushover_user_key", "pushover_api_token"],
  webhook: ["webhook_url"],
};

/** How mail is sent: the instance's server goes before Resend, and that before the team's own server. */
export function mailRoute(settings: Fields): "instance" | "resend" | "smtp" | undefined {
  if (settings.use_instance_email_settings === true) return "instance";
  if (settings.resend_enabled === true) return "resend";
  return settings.smtp_enabled === true ? "smtp" : undefined;
}

export const isChannelEnabled = (kind: ChannelKind, settings: Fields): boolean =>
  kind === "email" ? mailRoute(settings) !== undefined : settings[`${kind}_enabled`] === true;

/** The events that a channel is to report. */
export const chosenEvents = (kind: ChannelKind, settings: Fields): readonly NotificationEvent[] =>
  (Object.keys(NOTIFICATION_EVENTS) as NotificationEvent[]).filter(
    (event) => settings[`${event}_${kind}_notifications`] === true,
  );

/** What a channel lacks to send, by field. Empty: it can. */
export function missingFields(
  kind: ChannelKind,
  settings: Fields,
  { hasInstanceMail }: { readonly hasInstanceMail: boolean },
): FieldErrors {
  if (kind !== "email") return missing(NEEDED[kind], settings);
  const route = mailRoute(settings);
  if (route === "resend") return missing(["resend_api_key", "smtp_from_address"], settings);
  if (route !== "instance") {
    return { ...missing(["smtp_host", "smtp_port", "smtp_from_address"], settings), ...unsafe(settings) };
  }
  return hasInstanceMail ? {} : { use_instance_email_settings: [NO_INSTANCE_MAIL] };
}

export const NO_INSTANCE_MAIL = "This instance has no mail server. Its operator sets one with BERTH_SMTP_URL.";

function unsafe({ smtp_encryption, smtp_password, smtp_host }: Fields): FieldErrors {
  if (smtp_encryption !== "none" || smtp_password === null) return {};
  if (isPrivateWay(`http://${smtp_host}`)) return {};
  return {
    smtp_encryption: ["A password needs `starttls` or `tls`. Without encryption others could read it on the way."],
  };
}

const missing = (names: readonly string[], settings: Fields): FieldErrors =>
  Object.fromEntries(
    names.flatMap((name) => (settings[name] === null ? [[name, ["Nothing can be sent without this field."]]] : [])),
  );

/** A change of one of these leads the password elsewhere. */
const SMTP_ORIGIN = ["smtp_host", "smtp_port", "smtp_encryption"] as const;

export interface ChangedChannel<Kind extends ChannelKind> {
  readonly settings: ChannelSettings<Kind>;
  /** Whether it sends: it is turned on and lacks nothing. */
  readonly isEnabled: boolean;
  readonly events: readonly NotificationEvent[];
  /** What the caller should know. */
  readonly message: string | undefined;
}

/** A channel after a change. A password that was for another mail server is removed, unless it is sent too. */
export function changedChannel<Kind extends ChannelKind>(
  kind: Kind,
  current: ChannelSettings<Kind>,
  sent: object,
  instance: { readonly hasInstanceMail: boolean },
): ChangedChannel<Kind> {
  const change: Fields = sentFields(sent, defaultsOf(kind));
  const before: Fields = current;
  const after: Fields = { ...current, ...change };
  const isMoved = SMTP_ORIGIN.some((name) => before[name] !== after[name]);
  const isForgotten = kind === "email" && isMoved && !("smtp_password" in change) && before.smtp_password !== null;
  // Fields of the same kind, in place of its own.
  const settings = { ...after, ...(isForgotten && { smtp_password: null }) } as ChannelSettings<Kind>;
  const isTurnedOn = isChannelEnabled(kind, { ...settings });
  const lacking = Object.entries(isTurnedOn ? missingFields(kind, { ...settings }, instance) : {});
  const messages = [
    ...(isForgotten ? [FORGOTTEN] : []),
    ...lacking.map(([name, problems]) => `Nothing is sent yet. \`${name}\`: ${problems.join(" ")}`),
  ];
  return {
    settings,
    isEnabled: isTurnedOn && lacking.length === 0,
    events: chosenEvents(kind, { ...settings }),
    message: messages.length === 0 ? undefined : messages.join(" "),
  };
}

const FORGOTTEN = "The mail server has changed, so its password was deleted. Send `smtp_password` again.";

/**
 * A channel for callers, without its secrets for those who may not read them. A team has one channel of a kind, so the
 * team's id is the channel's too.
 */
export function channelView<Kind extends ChannelKind>(
  teamId: number,
  settings: ChannelSettings<Kind>,
  { seesSecrets, message }: { readonly seesSecrets: boolean; readonly message?: string | undefined },
): ChannelView<Kind> {
  const shown = Object.entries(settings).filter(([name]) => seesSecrets || !isChannelSecret(name));
  // The fields of the kind's settings, which its view has.
  return {
    ...{ id: teamId, team_id: teamId, ...Object.fromEntries(shown) },
    ...(message !== undefined && { message }),
  } as ChannelView<Kind>;
}

/**
 * Removes what is secret in the settings from a text, such as the answer of a server.
 */
export function withoutSecrets(text: string, settings: Fields): string {
  const secrets = Object.entries(settings)
    .filter(([name, value]) => isChannelSecret(name) && typeof value === "string")
    .flatMap(([name, value]) => secretParts(name, String(value)))
    .filter(({ length }) => length >= SECRET_LENGTH_MIN)
    // A secret that contains another one is removed as a whole.
    .toSorted((one, other) => other.length - one.length);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, "***"), text);
}

/** Shorter ones are in any text. */
const SECRET_LENGTH_MIN = 4;

function secretParts(name: string, value: string): readonly string[] {
  if (name === "smtp_recipients") return recipientsOf(value);
  if (!name.endsWith("webhook_url") || !URL.canParse(value)) return [value, encodeURIComponent(value)];
  const { pathname, search } = new URL(value);
  return [value, ...[`${pathname}${search}`, pathname].filter((part) => part !== "/")];
}
