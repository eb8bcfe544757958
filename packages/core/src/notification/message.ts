import type { ChannelKind } from "./channel.ts";
import type { Notification } from "./notification.ts";

type Fields = Readonly<Record<string, unknown>>;

/** What a channel sends over HTTP: a body of JSON. */
export interface ChannelMessage {
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Addresses of the services that have one for everybody. */
export interface ServiceUrls {
  readonly telegram: string;
  readonly pushover: string;
  readonly resend: string;
}

export interface Mail {
  readonly subject: string;
  readonly text: string;
}

type Writer = (notification: Notification, settings: Fields, urls: ServiceUrls) => ChannelMessage;

/** The request that brings a notification to each kind of channel. Texts of users are only ever shown as text. */
export const CHANNEL_MESSAGES: Record<Exclude<ChannelKind, "email">, Writer> = {
  discord: (notification, settings) => {
    const isPing = settings.discord_ping_enabled === true && !notification.isSuccess;
    return {
      url: String(settings.discord_webhook_url),
      body: {
        ...(isPing && { content: "@here" }),
        // Without this, a name such as `@everyone` would mention everyone.
        allowed_mentions: { parse: isPing ? ["everyone"] : [] },
        embeds: [
          {
            title: cut(discordText(notification.title), 256),
            description: cut(discordText(notification.text), 2000),
            color: notification.isSuccess ? GREEN : RED,
            ...(notification.url !== null && { url: notification.url }),
          },
        ],
      },
    };
  },

  slack: (notification, settings) => ({
    url: String(settings.slack_webhook_url),
    body: {
      text: cut(slackText(notification.title), 300),
      blocks: [
        { type: "header", text: { type: "plain_text", text: cut(sign(notification), 150), emoji: true } },
        { type: "section", text: { type: "plain_text", text: cut(notification.text, 2900), emoji: false } },
        ...(notification.url === null
          ? []
          : [{ type: "section", text: { type: "mrkdwn", text: `<${slackText(notification.url)}|Open in Berth>` } }]),
      ],
    },
  }),

  telegram: (notification, settings, urls) => {
    const { setting } = notification;
    const thread = setting === "test" ? undefined : settings[`telegram_notifications_${setting}_thread_id`];
    const link = notification.url === null ? "" : `\n${notification.url}`;
    return {
      // The colon of a token needs no escape in a path.
      url: `${urls.telegram}/bot${encodeURIComponent(String(settings.telegram_token)).replace("%3A", ":")}/sendMessage`,
      body: {
        chat_id: settings.telegram_chat_id,
        // Without `parse_mode` nothing in it is markup.
        text: `${cut(`${sign(notification)}\n\n${notification.text}`, 3500)}${link}`,
        link_preview_options: { is_disabled: true },
        ...(typeof thread === "string" && { message_thread_id: Number(thread) }),
      },
    };
  },

  pushover: (notification, settings, urls) => ({
    url: `${urls.pushover}/1/messages.json`,
    body: {
      token: settings.pushover_api_token,
      user: settings.pushover_user_key,
      title: cut(notification.title, 250),
      message: cut(notification.text, 1000),
      priority: notification.isSuccess ? 0 : 1,
      ...(notification.url !== null && { url: notification.url, url_title: "Open in Berth" }),
    },
  }),

  webhook: (notification, settings) => ({
    url: String(settings.webhook_url),
    body: {
      ...notification.fields,
      success: notification.isSuccess,
      message: `${notification.title}. ${cut(notification.text, 20_000)}`,
      event: notification.event,
      url: notification.url,
    },
  }),
};

export function mailOf(notification: Notification): Mail {
  const link = notification.url === null ? "" : `\n\n${notification.url}`;
  return {
    subject: cut(oneLine(notification.title), 200),
    text: `${notification.title}.\n\n${cut(notification.text, 20_000)}${link}\n\n--\nSent by Berth. Which notifications are sent is set under Team, Notifications.\n`,
  };
}

/** The addresses of a list separated by commas, without repetitions. */
export const recipientsOf = (text: string | null): readonly string[] => [
  ...new Set((text ?? "").split(/[,;\s]+/).filter((address) => address !== "")),
];

const GREEN = 0x2f_9e_44;
const RED = 0xe0_31_31;

const sign = ({ isSuccess, title }: Notification): string => `${isSuccess ? "✅" : "❌"} ${title}`;
const oneLine = (text: string): string => text.replaceAll(/[\r\n]+/g, " ");

/** Shows what Discord would take for markup. */
const discordText = (text: string): string => text.replaceAll(/[\\*_~`|>[\]()#<-]/g, "\\$&");

/** The three characters that Slack gives a meaning. */
const slackText = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** At most so many UTF-16 units, never half a character. */
export function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text
    .slice(0, lengthMax - 1)
    .toWellFormed()
    .replace(/\uFFFD$/, "")}…`;
}
