import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import type { ReceivedWebhook } from "@berth/control";
import { WEBHOOK_PAYLOADS, webhookDelivery } from "@berth/testing";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { admission } from "../admission.ts";
import { serverOptions } from "../rest/server-options.ts";
import { type WebhookOptions, webhookPlugin } from "./plugin.ts";
import { isSignedWith } from "./signature.ts";

const apps: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

/** The plugin with use cases that only record their input. */
function plugin(options: Partial<WebhookOptions> & { readonly requestsPerMinute?: number } = {}) {
  const received: ReceivedWebhook[] = [];
  const faults: unknown[] = [];
  const authenticator = { findToken: async () => undefined, touchToken: () => undefined };
  const { requestsPerMinute = 0, ...rest } = options;
  const app = Fastify({ ...serverOptions, forceCloseConnections: true });
  app.register(webhookPlugin, {
    prefix: "/webhooks",
    webhooks: {
      async receive(one: ReceivedWebhook) {
        received.push(one);
        return [];
      },
    },
    admission: admission({ authenticator, requestsPerMinute, now: () => new Date(0) }),
    onFault: (error: unknown) => void faults.push(error),
    ...rest,
  });
  apps.push(app);
  return { app, received, faults };
}

const PATH = "/webhooks/source/github/events/manual";
const delivery = () => webhookDelivery("github", WEBHOOK_PAYLOADS.github.push(), { secret: "s3cret" });

const post = (
  app: FastifyInstance,
  { headers, body }: { headers: Record<string, string>; body: string },
  ip = "1.2.3.4",
) => app.inject({ method: "POST", url: PATH, headers, payload: Buffer.from(body), remoteAddress: ip });

describe("deliveries", () => {
  test("are limited for each address, before their body is read", async () => {
    const { app, received } = plugin({ requestsPerMinute: 2 });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await post(app, delivery())).statusCode);
    expect(statuses).toEqual([200, 200, 429]);
    const limited = await post(app, delivery());
    expect([limited.json().code, limited.headers["retry-after"]]).toEqual(["rate.limited", "60"]);
    expect((await post(app, delivery(), "5.6.7.8")).statusCode).toBe(200);
    expect(received).toHaveLength(3);
  });

  test("without a signature are refused before their body is read", async () => {
    const { app, received } = plugin();
    const { "x-hub-signature-256": _signature, ...headers } = delivery().headers;
    const { statusCode } = await post(app, { headers, body: " ".repeat(30_000_000) });
    expect([statusCode, received]).toEqual([401, []]);
  });

  test("are checked as they came in, byte for byte", async () => {
    const { app, received } = plugin();
    const spaced = { ...delivery(), body: `${delivery().body}\n` };
    await post(app, spaced);
    await post(app, delivery());
    expect(await Promise.all(received.map((one) => one.isSignedWith("s3cret")))).toEqual([false, true]);
    expect(await received[1]?.isSignedWith("other")).toBe(false);
  });

  test.each(["", " ", "x".repeat(129), "a b", "ä"])("with the identifier %j have none", async (id) => {
    const { app, received } = plugin();
    const { headers, body } = delivery();
    await post(app, { body, headers: { ...headers, "x-github-delivery": id } });
    expect(received[0]?.deliveryId).toBeUndefined();
  });

  test("of GitLab are told apart by the key that stays when they are repeated", async () => {
    const { app, received } = plugin();
    const { headers, body } = webhookDelivery("gitlab", WEBHOOK_PAYLOADS.gitlab.push(), { secret: "s", id: "event" });
    const url = PATH.replace("github", "gitlab");
    for (const more of [{}, { "idempotency-key": "key" }]) {
      await app.inject({ method: "POST", url, headers: { ...headers, ...more }, payload: body });
    }
    expect(received.map(({ deliveryId }) => deliveryId)).toEqual(["event", "key"]);
  });

  test("that fail for a reason of ours tell nothing of it, and are reported", async () => {
    const receive = async () => {
      throw new Error("select * from secrets");
    };
    const { app, faults } = plugin({ webhooks: { receive } });
    const { statusCode, body } = await post(app, delivery());
    expect([statusCode, body.includes("select"), faults]).toEqual([500, false, [expect.any(Error)]]);
  });

  test("by another verb or to another place are not served", async () => {
    const { app } = plugin();
    expect((await app.inject({ method: "GET", url: PATH })).statusCode).toBe(404);
    expect((await app.inject({ method: "POST", url: "/webhooks/source/svn/events/manual" })).statusCode).toBe(404);
  });
});

describe("bodies that are still to come", () => {
  /** Announces a delivery of this length and sends nothing of it. */
  async function half(app: FastifyInstance, length: number) {
    if (!app.server.listening) await app.listen({ host: "127.0.0.1", port: 0 });
    const { port } = app.server.address() as AddressInfo; // It listens on a port, not on a pipe.
    const socket = connect(port, "127.0.0.1");
    const lines = [`POST ${PATH} HTTP/1.1`, "host: x", "content-type: application/json", "x-hub-signature-256: x"];
    socket.write(`${[...lines, `content-length: ${length}`].join("\r\n")}\r\n\r\n`);
    const answer = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
        if (text.includes("\r\n\r\n")) resolve(text);
      });
      socket.on("error", () => resolve(text));
      socket.on("close", () => resolve(text));
    });
    return { socket, answer };
  }

  test("are few when they are large, so that they cannot fill the memory", async () => {
    const { app } = plugin();
    const large = await Promise.all(Array.from({ length: 5 }, () => half(app, 20_000_000)));
    const first = await Promise.race(large.map(({ answer }) => answer));
    expect([first.split("\r\n")[0], /retry-after: (\d+)/i.exec(first)?.[1]]).toEqual([
      "HTTP/1.1 429 Too Many Requests",
      "10",
    ]);
    const small = await app.inject({
      method: "POST",
      url: PATH,
      headers: delivery().headers,
      payload: delivery().body,
    });
    expect(small.statusCode).toBe(200);
    for (const { socket } of large) socket.destroy();
  });

  test("are not waited for beyond a while, and their place is free again", async () => {
    const { app } = plugin({ bodySecondsMax: 0.2 });
    for (let n = 0; n < 2; n += 1) {
      const large = await Promise.all(Array.from({ length: 4 }, () => half(app, 20_000_000)));
      expect(await Promise.all(large.map(({ answer }) => answer))).toEqual(Array(4).fill(""));
    }
  });
});

describe("a signature", () => {
  const body = Buffer.from('{"a":1}');
  test.each<[type: "hmac-sha256" | "token", secret: string, presented: string | undefined, isRight: boolean]>([
    ["hmac-sha256", "", undefined, false],
    ["hmac-sha256", "", "sha256=", false],
    ["hmac-sha256", "", `sha256=${"0".repeat(64)}`, false],
    ["hmac-sha256", "x", `sha256=${"0".repeat(63)}`, false],
    ["hmac-sha256", "x", "sha1=63c5d6dbb4c5d5eb4c5d5eb4c5d5eb4c5d5eb4c5", false],
    ["hmac-sha256", "key", "sha256=8a5d9e32a5e5b8c5d5a5e5b8c5d5a5e5b8c5d5a5e5b8c5d5a5e5b8c5d5a5e5b8", false],
    ["token", "", "", false],
    ["token", "", undefined, false],
    ["token", "secret", "secret", true],
    ["token", "secret", "secret ", false],
    ["token", "secret", "secre", false],
    ["token", "sécret", "sécret", true],
  ])("by %s with the secret %j presented as %j is right: %s", async (type, secret, presented, isRight) => {
    expect(await isSignedWith(type, secret, presented, body)).toBe(isRight);
  });

  test("of GitHub's own example is right", async () => {
    // From GitHub's page on validating deliveries.
    const presented = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const said = Buffer.from("Hello, World!");
    expect(await isSignedWith("hmac-sha256", "It's a Secret to Everybody", presented, said)).toBe(true);
    expect(await isSignedWith("hmac-sha256", "It's a Secret to Everybody", presented.toUpperCase(), said)).toBe(true);
  });
});
