import { createHash } from "node:crypto";
import { connect, type Socket } from "node:net";
import type { Ability } from "@berth/core/team";
import { until } from "@berth/testing";
import type { FastifyInstance } from "fastify";
import { afterEach, describe, expect, test } from "vitest";
import { type HttpOptions, httpServer, listen } from "../http.ts";
import { readiness } from "../readiness.ts";
import { noSignIns } from "../sign-ins.fixture.ts";

const apps: FastifyInstance[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const app of apps.splice(0)) await app.close();
});

const hashOf = (secret: string) => createHash("sha256").update(secret).digest("hex");
const ABILITIES: Readonly<Record<string, readonly Ability[]>> = {
  [hashOf("reader")]: ["read"],
  [hashOf("writer")]: ["read", "write", "deploy"],
};

async function port(options: Partial<HttpOptions> = {}): Promise<number> {
  const app = httpServer({
    limitReads: (_bytes, work) => work(),
    controlFor: () => {
      throw new Error("Nothing is asked for.");
    },
    authenticator: {
      async findToken(hash) {
        const abilities = ABILITIES[hash];
        const token = { id: 1, team_id: 0, name: "test", user_id: 0, role: "owner" as const, is_api_enabled: true };
        const dates = {
          kind: "api" as const,
          confirmed_at: null,
          lacks_second_factor: false,
          expires_at: null,
          last_used_at: null,
          created_at: new Date(0),
        };
        return abilities && { ...token, ...dates, abilities: [...abilities] };
      },
      touchToken() {},
    },
    signIns: noSignIns,
    webhooks: { receive: async () => "pong" },
    requestsPerMinute: 0,
    log: { error: () => undefined },
    readiness: readiness(),
    closeGraceSeconds: 1,
    ...options,
  });
  apps.push(app);
  return Number(new URL(await listen(app, { host: "127.0.0.1", port: 0 })).port);
}

interface Client {
  readonly socket: Socket;
  text(): string;
  isClosed(): boolean;
}

function client(at: number, text: string): Client {
  const socket = connect({ host: "127.0.0.1", port: at });
  sockets.push(socket);
  let got = "";
  let isClosed = false;
  socket.setEncoding("utf8");
  socket.on("data", (data) => {
    got += data;
  });
  socket.on("error", () => undefined);
  socket.on("close", () => {
    isClosed = true;
  });
  socket.write(text);
  return { socket, text: () => got, isClosed: () => isClosed };
}

/** The head of a request, and one byte of the body it announces. */
const slow = (line: string, headers: readonly string[] = []) =>
  [`${line} HTTP/1.1`, "host: x", "content-type: application/json", "content-length: 1000", ...headers, "", "{"].join(
    "\r\n",
  );
const READER = "authorization: Bearer reader";
const WRITER = "authorization: Bearer writer";

describe("who may not send a body", () => {
  test.each([
    ["POST /api/v1/projects", [], 401, "auth.unauthenticated"],
    ["POST /api/v1/projects", ["authorization: Bearer wrong"], 401, "auth.unauthenticated"],
    ["POST /api/v1/projects", [READER], 403, "auth.missing_ability"],
    ["POST /api/v1/applications/upload", [], 401, "auth.unauthenticated"],
    ["POST /api/v1/applications/upload", [READER], 403, "auth.missing_ability"],
    ["POST /api/v1/nothing", [WRITER], 404, "request.not_found"],
    ["POST /nothing", [], 404, "request.not_found"],
    ["POST /trpc/projects.create", [], 401, "auth.unauthenticated"],
    ["POST /trpc/projects.create,projects.create?batch=1", [], 401, "auth.unauthenticated"],
    ["POST /webhooks/source/github/events/manual", [], 401, "webhook.unsigned"],
  ] as const)("is answered from the headers: %s with %j", async (line, headers, status, code) => {
    const { text, isClosed } = client(await port({ lingerSecondsMax: 0.1 }), slow(line, headers));
    await until(() => text().includes("\r\n\r\n") && text().includes(code), { what: "the answer" });
    expect(text()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    // The connection is closed as well.
    await until(isClosed, { what: "the end of the connection" });
  });

  test("can use the connection again after a body that comes", async () => {
    const { socket, text } = client(await port(), slow("POST /api/v1/projects"));
    await until(() => text().includes("auth.unauthenticated"), { what: "the first answer" });
    socket.write(`${"x".repeat(999)}GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n`);
    await until(() => text().endsWith("OK"), { what: "the second answer" });
  });
});

describe("a body", () => {
  test("that does not come is waited for no longer than its time", async () => {
    const { text, isClosed } = client(await port({ bodySecondsMax: 0.2 }), slow("POST /api/v1/projects", [WRITER]));
    await until(isClosed, { what: "the end of the connection" });
    expect(text()).toMatch(/^HTTP\/1.1 408 /);
    expect(text()).toContain("The body did not come within 0.2 seconds.");
  });
});

describe("connections", () => {
  const health = "GET /api/health HTTP/1.1\r\nhost: x\r\n\r\n";

  test("of one address are limited, and those that end make room", async () => {
    const at = await port({ connectionsPerAddress: 3 });
    const first = [1, 2, 3].map(() => client(at, health));
    for (const { text } of first) await until(() => text().endsWith("OK"), { what: "the answer" });
    const more = client(at, health);
    await until(more.isClosed, { what: "the end of the connection" });
    expect(more.text()).toMatch(/^HTTP\/1.1 429 .*BERTH_CONNECTIONS_PER_ADDRESS/s);
    first[0]?.socket.destroy();
    await until(async () => {
      const { text, isClosed } = client(at, health);
      await until(() => isClosed() || text().endsWith("OK"), { what: "an answer" });
      return text().endsWith("OK");
    });
  });

  test("of trusted proxies are not", async () => {
    const at = await port({ connectionsPerAddress: 1, trustedProxies: ["127.0.0.0/8"] });
    const clients = [1, 2, 3].map(() => client(at, health));
    for (const { text } of clients) await until(() => text().endsWith("OK"), { what: "the answer" });
  });
});
