import { unsigned, type Webhooks } from "@berth/control";
import { isDomainError } from "@berth/core";
import { type SignatureScheme, WEBHOOK_PROVIDERS, type WebhookProvider } from "@berth/core/webhook";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Admission } from "../admission.ts";
import { problemOf } from "../errors.ts";
import { asRequestError } from "../rest/request-error.ts";
import { whenClosed } from "../when-closed.ts";
import { bodyAdmission } from "./admission.ts";
import { type WebhookReader, webhookReader } from "./report.ts";
import { isSignedWith } from "./signature.ts";

export interface WebhookOptions {
  readonly webhooks: Webhooks;
  readonly admission: Pick<Admission, "count">;
  /** Called once for every error of the server (5xx), with its cause. */
  readonly onFault: (error: unknown, request: { readonly id: string; readonly operation: string | undefined }) => void;
  readonly reader?: WebhookReader;
  /** Time limit for receiving a body. */
  readonly bodySecondsMax?: number;
}

interface WebhookPath {
  readonly path: string;
  readonly provider: WebhookProvider;
  /** Sent to a GitHub app, signed with the app's secret instead of an application's. */
  readonly isForApp?: true;
}

const PLACES: readonly WebhookPath[] = [
  { path: "/source/github/events", provider: "github", isForApp: true },
  { path: "/source/github/events/manual", provider: "github" },
  { path: "/source/gitlab/events/manual", provider: "gitlab" },
  { path: "/source/bitbucket/events/manual", provider: "bitbucket" },
  { path: "/source/gitea/events/manual", provider: "gitea" },
];

const BODY_LIMIT_BYTES = 26_214_400; // the limit of GitHub's deliveries
const BODY_SECONDS_MAX = 30;

/** Receives pushes and pull requests from git hosts. Registered under a prefix. */
export function webhookPlugin(app: FastifyInstance, options: WebhookOptions, done: () => void): void {
  const admitBody = bodyAdmission(options.bodySecondsMax ?? BODY_SECONDS_MAX);
  const reader = options.reader ?? webhookReader();
  app.addHook("onClose", () => reader.close());
  app.setErrorHandler((error, request, reply) => fail(error, request, reply, options));
  app.removeAllContentTypeParsers();
  // Read as bytes, which the signature is about.
  app.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: BODY_LIMIT_BYTES }, (_request, body, parsed) =>
    parsed(null, body),
  );
  for (const place of PLACES) {
    app.post(place.path, {
      onRequest: async (request, reply) => {
        const { headers, ip } = request;
        const setHeader = (name: string, value: string) => void reply.header(name, value);
        options.admission.count({ authorization: undefined, session: undefined, ip, calls: 1, setHeader });
        if (isUnsignedSystemHook(place, headers)) return await passOver(reply);
        requireSignature(place, headers);
        admitBody(request, reply);
      },
      handler: (request, reply) => answer(place, request, reply, { ...options, reader }),
    });
  }
  done();
}

type Headers = FastifyRequest["headers"];

/** Refuses unsigned requests before their body is read. Pings need no signature, since they do nothing. */
function requireSignature({ provider }: WebhookPath, headers: Headers): void {
  const { signature, eventHeader }: ProviderHeaders = WEBHOOK_PROVIDERS[provider];
  const isPing = eventHeader !== undefined && headers[eventHeader] === "ping";
  if (!isPing && !textOf(headers, signature.header)) throw unsigned();
}

/** GitLab sends them for everything on its instance, and repeats and at last disables a hook that is refused. */
const isSystemHook = ({ provider }: WebhookPath, headers: Headers): boolean =>
  provider === "gitlab" && textOf(headers, "x-gitlab-event") === "System Hook";

const isUnsignedSystemHook = (place: WebhookPath, headers: Headers): boolean =>
  isSystemHook(place, headers) && !textOf(headers, WEBHOOK_PROVIDERS.gitlab.signature.header);

/** Answered from the headers: the body of somebody unknown is not read. */
const passOver = (reply: FastifyReply): FastifyReply =>
  reply
    .header("connection", "close")
    .type("application/json; charset=utf-8")
    .send(JSON.stringify(skipped("A system hook without a secret deploys nothing.")));

const skipped = (message: string) => [{ status: "skipped", message }];

interface ProviderHeaders {
  readonly signature: SignatureScheme;
  readonly eventHeader?: string;
  readonly deliveryHeaders: readonly string[];
}

async function answer(
  place: WebhookPath,
  request: FastifyRequest,
  reply: FastifyReply,
  { webhooks, reader }: WebhookOptions & { readonly reader: WebhookReader },
): Promise<FastifyReply> {
  const { provider, isForApp } = place;
  const { headers } = request;
  const { signature, eventHeader, deliveryHeaders }: ProviderHeaders = WEBHOOK_PROVIDERS[provider];
  // The content type parser stores bytes here.
  const body = (request.body as Buffer | undefined) ?? Buffer.alloc(0);
  const gone = new AbortController();
  whenClosed(reply.raw, () => gone.abort());
  const event = eventHeader && textOf(headers, eventHeader);
  const report = await reader.read({ provider, event, contentType: headers["content-type"], body }, gone.signal);
  const received = webhooks.receive({
    provider,
    ...(isForApp ? { githubAppId: Number(textOf(headers, "x-github-hook-installation-target-id") ?? Number.NaN) } : {}),
    deliveryId: deliveryHeaders.map((name) => textOf(headers, name)).find(isDeliveryId),
    report,
    isSignedWith: (secret) => isSignedWith(signature.type, secret, textOf(headers, signature.header), body),
  });
  const result = await received.catch((error: unknown) => {
    if (!isSystemHook(place, headers) || !isDomainError(error, "webhook.unsigned")) throw error;
    return skipped("No application of the repository has the secret of this system hook.");
  });
  if (result === "pong") return reply.type("text/plain; charset=utf-8").send(result);
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(result));
}

function textOf(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}

const isDeliveryId = (text: string | undefined): boolean => text !== undefined && /^[\x21-\x7e]{1,128}$/.test(text);

function fail(thrown: unknown, request: FastifyRequest, reply: FastifyReply, options: WebhookOptions): FastifyReply {
  const error = asRequestError(thrown);
  const { status, headers, body } = problemOf(error, request.id);
  if (status >= 500) options.onFault(error, { id: request.id, operation: request.routeOptions.url });
  return reply.code(status).headers(headers).type("application/json; charset=utf-8").send(JSON.stringify(body));
}
