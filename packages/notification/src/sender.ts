import { createHmac } from "node:crypto";
import {
  CHANNEL_MESSAGES,
  type ChannelKind,
  type ChannelSettings,
  cut,
  type DeliveryResult,
  mailOf,
  mailRoute,
  NO_INSTANCE_MAIL,
  recipientsOf,
  type ServiceUrls,
  storedSettings,
  withoutSecrets,
} from "@berth/core/notification";
import type { NotificationSender } from "@berth/core/ports";
import { guardedExchange, HttpFault, type PrivateHosts, readAtMost } from "@berth/host";
import { retryAfterOf, saidBy } from "./said.ts";
import type { MailServerSettings } from "./smtp.ts";

export interface NotificationSenderOptions {
  readonly allowedPrivateHosts: PrivateHosts;
  /** Server and sender that the operator set for the instance's own mail. */
  readonly instanceMail: { readonly url: string; readonly from: string } | undefined;
  /** In place of the services' own addresses: a gateway, or a stand-in. */
  readonly urls?: Partial<ServiceUrls> | undefined;
  /** Time limit of one try. */
  readonly secondsMax?: number;
}

const SERVICE_URLS: ServiceUrls = {
  telegram: "https://api.telegram.org",
  pushover: "https://api.pushover.net",
  resend: "https://api.resend.com",
};
const SECONDS_MAX = 15;
const ANSWER_BYTES_MAX = 64 * 1024;
/** Resend accepts no more in one mail. */
const RECIPIENTS_MAX = 50;

type Sending = Parameters<NotificationSender>[0];
type Exchange = ReturnType<typeof guardedExchange>;

interface Sender extends Omit<NotificationSenderOptions, "urls"> {
  readonly secondsMax: number;
  readonly exchange: Exchange;
  readonly urls: ServiceUrls;
}

/** Sends through channels of every kind. Private addresses are called only if they are allowed. */
export function notificationSender(options: NotificationSenderOptions): NotificationSender {
  const { allowedPrivateHosts, secondsMax = SECONDS_MAX } = options;
  const exchange = guardedExchange({ allowedPrivateHosts, secondsMax, bytesMax: ANSWER_BYTES_MAX });
  const sender: Sender = { ...options, secondsMax, exchange, urls: { ...SERVICE_URLS, ...options.urls } };
  return async (sending) => {
    const result = await sendOne(sender, sending).catch(problemOf);
    if (result.isDelivered) return result;
    const settings = storedSettings(sending.kind, sending.settings);
    return { ...result, problem: cut(withoutSecrets(result.problem, { ...settings }), PROBLEM_LENGTH_MAX) };
  };
}

const PROBLEM_LENGTH_MAX = 500;

async function sendOne(sender: Sender, sending: Sending): Promise<DeliveryResult> {
  const { kind, notification } = sending;
  if (kind === "email") return await mail(sender, sending);
  const { url, body } = CHANNEL_MESSAGES[kind](notification, storedSettings(kind, sending.settings), sender.urls);
  return await post(sender.exchange, sending, { url, body });
}

interface ChannelRequest {
  readonly url: string;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

function post(exchange: Exchange, { uuid, kind, settings }: Sending, { url, body, headers }: ChannelRequest) {
  const content = JSON.stringify(body);
  const init = {
    method: "POST",
    // A redirect could lead elsewhere with what is secret in the body.
    redirect: "manual" as const,
    headers: {
      "content-type": "application/json",
      "user-agent": "Berth",
      ...headers,
      ...(kind === "webhook" && webhookHeaders(uuid, storedSettings("webhook", settings), content)),
    },
    body: content,
  };
  return exchange(url, init, async (answer): Promise<DeliveryResult> => {
    // What a receiver says beside its status is not needed, and may have no end.
    if (answer.ok) {
      await answer.body?.cancel();
      return { isDelivered: true };
    }
    const said = answer.body === null ? undefined : await readAtMost(answer.body, ANSWER_BYTES_MAX);
    return refusalOf(NAMES[kind], answer, said?.toString("utf8") ?? "");
  });
}

const NAMES: Record<ChannelKind, string> = {
  email: "Resend",
  discord: "Discord",
  slack: "Slack",
  telegram: "Telegram",
  pushover: "Pushover",
  webhook: "The webhook",
};

const webhookHeaders = (uuid: string, { webhook_secret }: ChannelSettings<"webhook">, content: string) => ({
  "x-berth-delivery": uuid,
  ...(webhook_secret !== null && {
    "x-berth-signature-256": `sha256=${createHmac("sha256", webhook_secret).update(content).digest("hex")}`,
  }),
});

interface ChannelRefusal {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
}

function refusalOf(name: string, { status, headers }: ChannelRefusal, text: string): DeliveryResult {
  const { words, retryAfterSeconds } = saidBy(text);
  const isRedirect = status >= 300 && status < 400;
  return {
    isDelivered: false,
    problem: isRedirect
      ? `${name} answered ${status}, a redirect, which is not followed. Set the address that it leads to.`
      : `${name} answered ${status}${words === "" ? "." : `: ${words}`}`,
    isFinal: status < 500 && !RETRIED_STATUSES.has(status),
    retryAfterSeconds: retryAfterOf(headers.get("retry-after")) ?? retryAfterSeconds,
  };
}

/** Request timeout, too early, too many requests. */
const RETRIED_STATUSES = new Set([408, 425, 429]);

async function mail(sender: Sender, sending: Sending): Promise<DeliveryResult> {
  const settings = storedSettings("email", sending.settings);
  const route = mailRoute(settings) ?? "smtp";
  const to = recipientsFor(route, settings, sending.memberAddresses);
  if (to.length === 0) return final("Nobody would get it. Set `smtp_recipients`, or add a member to the team.");
  const content = { ...mailOf(sending.notification), to };
  const address = settings.smtp_from_address ?? "";
  if (route === "resend") {
    const name = settings.smtp_from_name?.replaceAll(/["\\\r\n<>]/g, " ");
    return await post(sender.exchange, sending, {
      url: `${sender.urls.resend}/emails`,
      body: { ...content, from: name === undefined ? address : `"${name}" <${address}>` },
      headers: { authorization: `Bearer ${settings.resend_api_key}`, "idempotency-key": sending.uuid },
    });
  }
  const { instanceMail } = sender;
  if (route === "instance" && instanceMail === undefined) return final(NO_INSTANCE_MAIL);
  const server: MailServerSettings =
    route === "instance" && instanceMail !== undefined
      ? { url: instanceMail.url, from: instanceMail.from }
      : { settings, from: { name: settings.smtp_from_name ?? "Berth", address } };
  const { sendMail } = await import("./smtp.ts");
  await sendMail(server, { ...content, uuid: sending.uuid }, sender);
  return { isDelivered: true };
}

/** The operator's server writes to members of the team only, or a team could send mail to anybody in its name. */
function recipientsFor(
  route: "instance" | "resend" | "smtp",
  { smtp_recipients }: ChannelSettings<"email">,
  members: readonly string[],
): readonly string[] {
  const named = recipientsOf(smtp_recipients);
  const allowed = route === "instance" ? named.filter((address) => members.includes(address.toLowerCase())) : named;
  return (named.length === 0 ? members : allowed).slice(0, RECIPIENTS_MAX);
}

const final = (problem: string): DeliveryResult => ({ isDelivered: false, problem, isFinal: true });

function problemOf(error: unknown): DeliveryResult {
  const isPrivate = error instanceof HttpFault && error.reason === "private_address";
  const message = error instanceof Error ? error.message : String(error);
  return { isDelivered: false, problem: message.replaceAll(/\s+/g, " "), isFinal: isPrivate || isRefusal(error) };
}

/** A mail server that refuses for good, by its code (5xx). */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && "responseCode" in error && Number(error.responseCode) >= 500;
