import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify from "fastify";
import { afterAll, describe, expect, it } from "vitest";
import { dashboard } from "./dashboard.ts";

const folder = mkdtempSync(join(tmpdir(), "berth-dashboard-"));
mkdirSync(join(folder, "assets"));
writeFileSync(join(folder, "index.html"), `<meta nonce="__CSP_NONCE__"><script nonce="__CSP_NONCE__"></script>`);
writeFileSync(join(folder, "assets/main-1.js"), "plain");
writeFileSync(join(folder, "assets/main-1.js.br"), "compressed");
afterAll(() => rmSync(folder, { recursive: true }));

function served() {
  const app = Fastify();
  const page = dashboard(app, folder);
  app.setNotFoundHandler((request, reply) => (page?.serves(request) ? page.send(reply) : reply.code(404).send("no")));
  return app;
}
const asBrowser = { accept: "text/html,*/*" };

describe("the dashboard", () => {
  it("has another nonce in each answer, the same in the page and its policy", async () => {
    const app = served();
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const { body, headers } = await app.inject("/");
        const [nonce = "", other] = [...body.matchAll(/nonce="([^"]+)"/g)].map(([, found]) => found);
        expect(other).toBe(nonce);
        expect(headers["content-security-policy"]).toContain(`style-src 'self' 'nonce-${nonce}'`);
        expect(headers["content-security-policy"]).not.toContain("unsafe");
        return nonce;
      }),
    );
    expect(new Set(nonces).size).toBe(2);
  });

  it("answers every path of its own with the page, and leaves programs their answers", async () => {
    const app = served();
    const status = async (url: string, headers: Record<string, string> = asBrowser, method: "GET" | "POST" = "GET") =>
      (await app.inject({ url, method, headers })).statusCode;
    for (const url of ["/servers", "/applications/x/logs?search=a", "/apis", "/authors"]) {
      expect([url, await status(url)]).toEqual([url, 200]);
    }
    for (const prefix of ["api", "trpc", "docs", "webhooks", "auth", "assets"]) {
      expect([prefix, await status(`/${prefix}/nope`)]).toEqual([prefix, 404]);
    }
    expect(await status("/servers", { accept: "application/json" })).toBe(404);
    expect(await status("/servers", asBrowser, "POST")).toBe(404);
  });

  it("sends what was compressed, for good, and nothing from outside its folder", async () => {
    const app = served();
    const asset = (headers = {}) => app.inject({ url: "/assets/main-1.js", headers });
    expect((await asset()).body).toBe("plain");
    const { body, headers } = await asset({ "accept-encoding": "br" });
    expect([body, headers["content-encoding"]]).toEqual(["compressed", "br"]);
    expect(headers["cache-control"]).toContain("immutable");
    expect((await app.inject("/assets/..%2findex.html")).statusCode).toBe(404);
  });
});
