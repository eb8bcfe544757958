import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";

export interface ReceivedNotification {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
  /** `undefined`: it is not JSON. */
  readonly json: Readonly<Record<string, unknown>>;
}

/** What happens to a request in place of the service's own answer. */
export type NotificationFault =
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  /** No answer, or one that has no end. */
  | "silent"
  | "endless"
  /** The connection is closed. */
  | "broken";

/** Discord, Slack, Telegram, Pushover, Resend and any webhook, on the loopback, with their documented answers. */
export interface NotificationServer {
  readonly url: string;
  readonly received: readonly ReceivedNotification[];
  /** For the next requests, in order; the last one for all that follow, until it is taken away. */
  readonly faults: NotificationFault[];
  /** Whether the last of `faults` is for all requests. */
  isBroken: boolean;
  /** URLs and secrets that the services accept. */
  readonly discordUrl: string;
  readonly slackUrl: string;
  readonly webhookUrl: string;
  close(): Promise<void>;
}

export const NOTIFICATION_LOGIN = {
  telegram_token: "123456:AAF-telegram-token",
  telegram_chat_id: "-1001234567890",
  pushover_api_token: "azGDORePK8gMaC0QOYAMyEEuzJnyUi",
  pushover_user_key: "uQiRzpo4DXghDmr9QzzfQu27cmVRsG",
  resend_api_key: "re_123456789_resend",
} as const;

export async function notificationServer(): Promise<NotificationServer> {
  const received: ReceivedNotification[] = [];
  const faults: NotificationFault[] = [];
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const own: NotificationServer = {
    ...{ url, received, faults, isBroken: false },
    discordUrl: `${url}/api/webhooks/1186/discord-token`,
    slackUrl: `${url}/services/T00000000/B00000000/slack-token`,
    webhookUrl: `${url}/hooks/webhook-token`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return own;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    const path = request.url ?? "";
    const notification = { path, headers: request.headers, body, json: jsonOf(body) };
    received.push(notification);
    const fault = own.isBroken && faults.length === 1 ? faults[0] : faults.shift();
    if (fault === "broken") return void request.socket.destroy();
    if (fault === "silent") return;
    if (fault === "endless") return endless(response);
    const { status, body: said = "", headers = {} } = fault ?? serviceAnswer(notification);
    response.writeHead(status, headers).end(said);
  }
}

function endless(response: ServerResponse): void {
  response.writeHead(500, { "content-type": "text/plain" });
  const more = setInterval(() => response.write("x".repeat(10_000)), 5);
  response.on("close", () => clearInterval(more));
}

function jsonOf(body: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

type Answer = Exclude<NotificationFault, string>;

const json = (status: number, value: object): Answer => ({
  status,
  body: JSON.stringify(value),
  headers: { "content-type": "application/json" },
});

function serviceAnswer(notification: ReceivedNotification): Answer {
  const service = SERVICES.find(({ path }) => path.test(notification.path));
  return service?.answer(notification) ?? { status: 404, body: "<html>Not found</html>" };
}

/** Whether each text has at most as many characters as the service documents, and at least one. */
const isWithin = (value: unknown, lengthsMax: Readonly<Record<string, number>>): boolean =>
  typeof value === "object" &&
  value !== null &&
  Object.entries(lengthsMax).every(([name, max]) => {
    const text = Object.entries(value).find(([key]) => key === name)?.[1];
    return typeof text === "string" && text.length > 0 && text.length <= max;
  });

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

const isDiscordMessage = ({ embeds }: SentMessage): boolean =>
  listIn(embeds).length === 1 && isWithin(listIn(embeds)[0], { title: 256, description: 4096 });

const isSlackMessage = ({ text, blocks }: SentMessage): boolean =>
  isWithin({ text }, { text: 40_000 }) &&
  listIn(blocks).every((block) => {
    const { type, text: shown } = Object(block);
    return isWithin(shown, { text: type === "header" ? 150 : 3000 });
  });

const isPushoverMessage = (sent: SentMessage): boolean =>
  isWithin(sent, { title: 250, message: 1024 }) && (sent.url === undefined || isWithin(sent, { url: 512 }));

const isMail = (sent: SentMessage): boolean =>
  isWithin(sent, { from: 500, subject: 998, text: 1_000_000 }) &&
  listIn(sent.to).length > 0 &&
  listIn(sent.to).length <= 50;

type SentMessage = ReceivedNotification["json"];

const SERVICES: readonly { readonly path: RegExp; readonly answer: (received: ReceivedNotification) => Answer }[] = [
  {
    path: /^\/api\/webhooks\//,
    answer: ({ path, json: sent }) => {
      if (!path.endsWith("/discord-token")) return json(401, { message: "Invalid Webhook Token", code: 50_027 });
      if (isDiscordMessage(sent)) return { status: 204 };
      return json(400, { code: 50_035, message: "Invalid Form Body", errors: {} });
    },
  },
  {
    path: /^\/services\//,
    answer: ({ path, json: sent }) => {
      if (!path.endsWith("/slack-token")) return { status: 404, body: "no_service" };
      return isSlackMessage(sent) ? { status: 200, body: "ok" } : { status: 400, body: "invalid_blocks" };
    },
  },
  {
    path: /^\/bot[^/]+\/sendMessage$/,
    answer: ({ path, json: sent }) => {
      const refused = (error_code: number, description: string) =>
        json(error_code, { ok: false, error_code, description });
      if (path !== `/bot${NOTIFICATION_LOGIN.telegram_token}/sendMessage`) return refused(401, "Unauthorized");
      if (!isWithin(sent, { text: 4096 })) return refused(400, "Bad Request: message text is empty");
      const isKnown = sent.chat_id === NOTIFICATION_LOGIN.telegram_chat_id;
      return isKnown ? json(200, { ok: true, result: {} }) : refused(400, "Bad Request: chat not found");
    },
  },
  {
    path: /^\/1\/messages\.json$/,
    answer: ({ json: sent }) => {
      const isKnown =
        sent.token === NOTIFICATION_LOGIN.pushover_api_token && sent.user === NOTIFICATION_LOGIN.pushover_user_key;
      if (isKnown && isPushoverMessage(sent)) return json(200, { status: 1, request: "647d" });
      return json(400, { status: 0, errors: ["application token is invalid"], request: "5042", token: "invalid" });
    },
  },
  {
    path: /^\/emails$/,
    answer: ({ headers, json: sent }) => {
      if (headers.authorization !== `Bearer ${NOTIFICATION_LOGIN.resend_api_key}`) {
        return json(401, { statusCode: 401, name: "validation_error", message: "API key is invalid" });
      }
      return isMail(sent)
        ? json(200, { id: "49a3999c" })
        : json(422, { statusCode: 422, name: "validation_error", message: "Invalid `to` field." });
    },
  },
  { path: /^\/hooks\//, answer: () => json(200, { received: true }) },
];
