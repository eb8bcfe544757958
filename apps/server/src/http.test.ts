import { createHash } from "node:crypto";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { isDomainError } from "@berth/core";
import { CHROMIUM, CHROMIUM_FLAGS, hasChromium } from "@berth/testing";
import type { FastifyInstance } from "fastify";
import { chromium } from "playwright-core";
import { afterEach, describe, expect, it } from "vitest";
import { type HttpOptions, httpServer, listen } from "./http.ts";
import { readiness } from "./readiness.ts";
import { noSignIns } from "./sign-ins.fixture.ts";

const authorization = "Bearer 1|secret";
const open: FastifyInstance[] = [];
afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
});

/** @param control The use cases that the test asks for. */
function server(control: object = {}, options: Partial<HttpOptions> = {}) {
  const faults: unknown[] = [];
  const app = httpServer({
    // A test asks only for the operations whose use cases it gives.
    signIns: noSignIns,
    webhooks: { receive: async () => "pong" },
    controlFor: () => control as ReturnType<HttpOptions["controlFor"]>,
    limitReads: (_bytes, work) => work(),
    authenticator: {
      async findToken(hash) {
        if (hash !== createHash("sha256").update("secret").digest("hex")) return undefined;
        const dates = {
          kind: "api" as const,
          confirmed_at: null,
          lacks_second_factor: false,
          expires_at: null,
          last_used_at: null,
          created_at: new Date(0),
        };
        return {
          id: 1,
          team_id: 0,
          name: "test",
          abilities: ["root"],
          user_id: 0,
          role: "owner" as const,
          is_api_enabled: true,
          ...dates,
        };
      },
      touchToken() {},
    },
    requestsPerMinute: 0,
    log: { error: (_message, details) => void faults.push(details) },
    readiness: readiness(),
    closeGraceSeconds: 2,
    ...options,
  });
  open.push(app);
  return { app, faults, url: () => listen(app, { host: "127.0.0.1", port: 0 }) };
}

describe("what is served", () => {
  it("is up without a token, a database or a limit", async () => {
    const { app } = server({}, { requestsPerMinute: 1 });
    for (const url of ["/api/health", "/api/v1/health", "/api/health/", "/api/v1/health"]) {
      const { statusCode, body, headers } = await app.inject(url);
      expect([statusCode, body, headers["content-type"]]).toEqual([200, "OK", "text/plain; charset=utf-8"]);
    }
  });

  it("counts a client by what a proxy that is believed says of it, and by nothing that it says itself", async () => {
    const statusOf = async (app: FastifyInstance, remoteAddress: string, client: string) => {
      const headers = { "x-forwarded-for": client };
      return (await app.inject({ url: "/api/v1/version", remoteAddress, headers })).statusCode;
    };
    const { app } = server({}, { requestsPerMinute: 1, trustedProxies: ["10.0.0.0/8"] });
    expect(await statusOf(app, "10.1.1.1", "198.51.100.1")).toBe(401);
    expect(await statusOf(app, "10.1.1.1", "198.51.100.2")).toBe(401);
    expect(await statusOf(app, "10.1.1.2", "198.51.100.2")).toBe(429);
    expect(await statusOf(app, "203.0.113.9", "198.51.100.3")).toBe(401);
    expect(await statusOf(app, "203.0.113.9", "198.51.100.4")).toBe(429);
  });

  it("gives REST and tRPC the same use cases", async () => {
    const { app } = server({ instance: { version: () => "4.0.0" } });
    const rest = await app.inject({ url: "/api/v1/version", headers: { authorization } });
    const trpc = await app.inject({ url: "/trpc/version", headers: { authorization } });
    expect([rest.body, trpc.json().result.data]).toEqual(["4.0.0", "4.0.0"]);
  });

  it("describes itself, the same as in the repository's form, and says when nothing has changed", async () => {
    const { app } = server();
    const json = await app.inject("/api/v1/openapi.json");
    expect([json.statusCode, json.headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
    expect(json.json()).toMatchObject({ openapi: "3.1.0", servers: [{ url: "/api/v1" }] });
    const yaml = await app.inject("/api/v1/openapi.yaml");
    expect([yaml.headers["content-type"], yaml.body.slice(0, 15)]).toEqual([
      ...["application/yaml; charset=utf-8", "openapi: 3.1.0\n"],
    ]);
    const again = await app.inject({
      url: "/api/v1/openapi.json",
      headers: { "if-none-match": String(json.headers.etag) },
    });
    expect([again.statusCode, again.body]).toEqual([304, ""]);
  });

  it("answers other paths with its usual body", async () => {
    const { app } = server();
    for (const url of ["/nothing", "/api/nothing", "/api/v1/nothing"]) {
      const { statusCode, json } = await app.inject(url);
      expect([statusCode, json()]).toMatchObject([
        404,
        { message: "Not found.", code: "request.not_found", docs: "/docs" },
      ]);
    }
  });

  it("logs a fault once with its cause, under the id of the answer", async () => {
    const { app, faults } = server({
      instance: {
        version() {
          throw new TypeError("select secrets");
        },
      },
    });
    const { statusCode, body, headers } = await app.inject({ url: "/api/v1/version", headers: { authorization } });
    expect([statusCode, body.includes("select")]).toEqual([500, false]);
    expect(faults).toMatchObject([{ request_id: headers["x-request-id"], operation: "version" }]);
  });
});

describe("browsers", () => {
  it("may call from anywhere, and read the headers", async () => {
    const { app } = server();
    const preflight = await app.inject({
      ...{ method: "OPTIONS", url: "/api/v1/projects" },
      headers: {
        ...{ origin: "https://elsewhere.example", "access-control-request-method": "PATCH" },
        "access-control-request-headers": "authorization, content-type",
      },
    });
    expect([preflight.statusCode, preflight.headers]).toMatchObject([
      204,
      {
        "access-control-allow-origin": "*",
        "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
        "access-control-allow-headers": "authorization, content-type",
      },
    ]);
    for (const url of ["/api/v1/projects", "/trpc/projects.list"]) {
      const refused = await app.inject({ url, headers: { origin: "https://elsewhere.example" } });
      expect([refused.statusCode, refused.headers["access-control-allow-origin"]]).toEqual([401, "*"]);
      expect(refused.headers["access-control-expose-headers"]).toContain("X-Request-Id");
      expect(refused.headers["access-control-allow-credentials"]).toBeUndefined();
    }
  });

  it("may do nothing with an answer but read it, and keep none", async () => {
    const { headers } = await server().app.inject("/api/v1/nothing");
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
      "cache-control": "no-store",
    });
  });

  it("get the start page and the documentation from this server alone", async () => {
    const { app } = server();
    for (const url of ["/", "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js"]) {
      const { statusCode, body } = await app.inject(url);
      expect([url, statusCode]).toEqual([url, 200]);
      if (!url.includes("swagger")) expect(body).not.toMatch(/https?:\/\//);
    }
    expect((await app.inject("/docs/..%2fpackage.json")).statusCode).toBe(404);
  });

  it("get the documentation compressed, once", async () => {
    const { app } = server();
    let bytes = 0;
    for (const url of ["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js", "/api/v1/openapi.json"]) {
      const plain = await app.inject(url);
      const sent = await app.inject({ url, headers: { "accept-encoding": "br, gzip" } });
      expect([sent.headers["content-encoding"], sent.headers.vary]).toEqual(["gzip", "accept-encoding"]);
      expect(gunzipSync(sent.rawPayload).equals(plain.rawPayload)).toBe(true);
      bytes += sent.rawPayload.length;
      const headers = { "accept-encoding": "br, gzip", "if-none-match": String(sent.headers.etag) };
      expect((await app.inject({ url, headers })).statusCode).toBe(304);
      const refused = await app.inject({ url, headers: { "accept-encoding": "gzip;q=0" } });
      expect(refused.headers["content-encoding"]).toBeUndefined();
    }
    // Of 3.4 MB.
    expect(bytes).toBeLessThan(700_000);
  });

  it.skipIf(!hasChromium)("can try an operation with a token in the documentation", async () => {
    const { url } = server({ instance: { version: () => "4.0.0" } });
    const base = await url();
    const browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: CHROMIUM_FLAGS,
    });
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(120_000); // A bound for what never comes.
      const complaints: string[] = [];
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
      page.on("request", (request) => {
        if (!request.url().startsWith(base) && !request.url().startsWith("data:")) complaints.push(request.url());
      });
      await page.goto(`${base}/docs`);
      await page.locator("button.authorize").first().click();
      await page.locator(".auth-container input").fill("1|secret");
      await page.locator(".auth-btn-wrapper button.authorize").click();
      await page.locator(".auth-btn-wrapper button.btn-done").click();
      const tried = async () => {
        await page.locator("#tag-System, [data-tag=System]").first().click();
        const operation = page.locator("#operations-System-version");
        await operation.locator("button.opblock-summary-control").click();
        await operation.locator("button.try-out__btn").click();
        await operation.locator("button.execute").click();
        const answer = operation.locator(".live-responses-table .response-col_description pre").first();
        await answer.waitFor();
        return await answer.textContent();
      };
      expect(await tried()).toContain("4.0.0");
      await page.reload();
      // Its lock is closed, and stays so until the person logs out.
      await page.locator(".authorize.locked, .auth-wrapper .locked").first().waitFor();
      // The address names the operation, which is open again.
      await page.goto(`${base}/docs#`);
      await page.reload();
      expect(await tried()).toContain("4.0.0");
      expect(await page.evaluate("[sessionStorage.length, localStorage.length]")).toEqual([1, 0]);
      await page.locator("button.authorize").first().click();
      await page.locator(".auth-btn-wrapper button", { hasText: "Logout" }).click();
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
    // Two times all operations are drawn, which takes a busy machine a while.
  });
});

describe("closing", () => {
  it("waits for what is under way, and refuses what comes later", async () => {
    const gate = Promise.withResolvers<string>();
    const entered = Promise.withResolvers<void>();
    const version = () => {
      entered.resolve();
      return gate.promise;
    };
    // Only the answer ends it in time.
    const { app, url } = server({ instance: { version } }, { closeGraceSeconds: 3600 });
    const base = await url();
    const answer = fetch(`${base}/api/v1/version`, { headers: { authorization } });
    await entered.promise;
    const closed = app.close();
    await expect
      .poll(() =>
        fetch(`${base}/api/health`).then(
          () => "up",
          () => "down",
        ),
      )
      .toBe("down");
    gate.resolve("late");
    expect(await (await answer).text()).toBe("late");
    await closed;
  });

  it("cuts event streams at once, so that their readers resume", async () => {
    const follow = async (_owner: object, { signal }: { signal: AbortSignal }) => endless(signal);
    const { app, url } = server({ logs: { follow } }, { closeGraceSeconds: 3600 });
    const base = await url();
    const ends = [
      "/api/v1/applications/x/logs/follow",
      "/trpc/applications.logs.follow?input=%7B%22uuid%22:%22x%22%7D",
    ];
    const streams = await Promise.all(ends.map((path) => fetch(base + path, { headers: { authorization } })));
    expect(streams.map(({ status }) => status)).toEqual([200, 200]);
    const read = streams.map((stream) =>
      stream.text().then(
        (text) => text,
        () => "cut",
      ),
    );
    await app.close();
    expect(await Promise.all(read)).toEqual(["cut", "cut"]);
  });

  it("does not wait for ever for what hangs", async () => {
    const entered = Promise.withResolvers<void>();
    const version = () => {
      entered.resolve();
      return new Promise(() => undefined);
    };
    const { app, url } = server({ instance: { version } }, { closeGraceSeconds: 0.3 });
    const hanging = fetch(`${await url()}/api/v1/version`, { headers: { authorization } });
    const ended = hanging.then(
      () => "answered",
      () => "cut",
    );
    await entered.promise;
    await app.close();
    expect(await ended).toBe("cut");
  });
});

describe("listening", () => {
  it("says what to do when the port is taken", async () => {
    const { url } = server();
    const port = Number(new URL(await url()).port);
    await expect(listen(server().app, { host: "127.0.0.1", port })).rejects.toSatisfy(
      (error) =>
        isDomainError(error, "setup.failed") &&
        error.message === `Port ${port} is in use. Stop what listens there or set BERTH_PORT to another.`,
    );
  });

  it("says what to do when the address is not this machine's", async () => {
    await expect(listen(server().app, { host: "192.0.2.1", port: 0 })).rejects.toThrow(
      "192.0.2.1 is not an address of this machine. Set BERTH_HOST to one of its addresses, or to 0.0.0.0.",
    );
  });

  it.each([
    ["nonsense", "hello\r\n\r\n", 400],
    ["headers beyond all measure", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, 431],
  ])("answers %s with its usual body", async (_, text, status) => {
    const { url } = server();
    const answer = await sendRaw(Number(new URL(await url()).port), text);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(answer.split("\r\n\r\n")[1] ?? "")).toMatchObject({ code: "request.malformed" });
  });
});

async function* endless(signal: AbortSignal) {
  yield { cursor: "1", line: "hello", deployment_uuid: "d" };
  await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
}

async function sendRaw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("utf8");
  socket.write(text);
  let answer = "";
  for await (const chunk of socket) answer += chunk;
  return answer;
}
