import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createStaticServer } from "./static-server.ts";

const FILES: Readonly<Record<string, string>> = {
  "site/index.html": "<h1>home</h1>",
  "site/about.html": "about",
  "site/404.html": "nothing here",
  "site/docs/index.html": "docs",
  "site/assets/app.js": "0123456789",
  "site/assets/picture.svg": "<svg/>",
  "site/assets/data": "raw",
  "site/guide.html": "the guide",
  "site/guide/start.html": "first steps",
  "site/release-1.2.html": "what is new",
  "site/empty.txt": "",
  "site/with space é.txt": "space",
  "site/.env": "SECRET=1",
  "site/.git/config": "secret",
  "site/docs/.hidden": "secret",
  "site/.well-known/security.txt": "contact",
  "outside.txt": "secret",
};

let folder: string;
const servers: Server[] = [];
let port: number;
let spaPort: number;

async function serve(isSpa: boolean): Promise<number> {
  const server = createStaticServer({ root: join(folder, "site"), isSpa });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // An address of a TCP server is never a string.
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "berth-static-"));
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  symlinkSync("../outside.txt", join(folder, "site/escape.txt"));
  symlinkSync("..", join(folder, "site/up"));
  symlinkSync("/etc", join(folder, "site/etc"));
  symlinkSync("about.html", join(folder, "site/alias.txt"));
  mkdirSync(join(folder, "site-other"));
  writeFileSync(join(folder, "site-other/x.txt"), "secret");
  symlinkSync("../site-other", join(folder, "site/other"));
  port = await serve(false);
  spaPort = await serve(true);
});

afterAll(() => {
  for (const server of servers) server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** `node:http` sends the path unchanged; `fetch` would normalise it. */
function get(path: string, options: { headers?: Record<string, string>; method?: string; port?: number } = {}) {
  return new Promise<Answer>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, agent: false, path, ...options }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text) => {
        body += text;
      });
      response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    asked.on("error", reject).end();
  });
}

describe("static server", () => {
  test.each([
    ["/", "<h1>home</h1>", "text/html; charset=utf-8"],
    ["/index.html?x=1", "<h1>home</h1>", "text/html; charset=utf-8"],
    ["/about", "about", "text/html; charset=utf-8"],
    ["/docs/", "docs", "text/html; charset=utf-8"],
    ["/assets/app.js", "0123456789", "application/javascript; charset=utf-8"],
    ["/assets/picture.svg", "<svg/>", "image/svg+xml"],
    ["/assets/data", "raw", "application/octet-stream"],
    ["/with%20space%20%C3%A9.txt", "space", "text/plain; charset=utf-8"],
    ["/empty.txt", "", "text/plain; charset=utf-8"],
    ["/.well-known/security.txt", "contact", "text/plain; charset=utf-8"],
    ["/alias.txt", "about", "text/plain; charset=utf-8"],
  ])("serves %s", async (path, body, type) => {
    const answer = await get(path);
    expect(answer).toMatchObject({ status: 200, body });
    expect(answer.headers["content-type"]).toBe(type);
    expect(answer.headers["content-length"]).toBe(String(Buffer.byteLength(body)));
  });

  test.each([
    "/escape.txt",
    "/up/outside.txt",
    "/etc/passwd",
    "/other/x.txt",
    "/../outside.txt",
    "/%2e%2e/outside.txt",
    "/docs/..%2f..%2foutside.txt",
    "/.env",
    "/%2eenv",
    "/.git/config",
    "/docs/.hidden",
    "/docs/.well-known/x",
    "/missing",
    "/assets/",
    "/about.html/",
  ])("shows nothing but its own 404 page for %s", async (path) => {
    expect(await get(path)).toMatchObject({ status: 404, body: "nothing here" });
    expect(await get(path, { port: spaPort })).not.toMatchObject({ body: expect.stringMatching(/secret|root:/i) });
  });

  test.each(["/%", "/%00", "/a%ff"])("refuses the broken path %s", async (path) => {
    expect(await get(path)).toMatchObject({ status: 400 });
  });

  test("serves the page of a folder's name before the folder", async () => {
    expect(await get("/guide")).toMatchObject({ status: 200, body: "the guide" });
    expect(await get("/guide/start")).toMatchObject({ status: 200, body: "first steps" });
    expect(await get("/release-1.2")).toMatchObject({ status: 200, body: "what is new" });
  });

  test("adds the slash a folder lacks, keeps the query and never leaves the host", async () => {
    expect((await get("/docs?a=1?b")).headers.location).toBe("/docs/?a=1?b");
    expect((await get("//docs")).headers.location).toBe("/docs/");
    expect((await get("//docs")).status).toBe(301);
  });

  test("answers HEAD with the headers of GET and no body", async () => {
    const head = await get("/about.html", { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, body: "" });
    expect(head.headers["content-length"]).toBe("5");
    expect(await get("/missing", { method: "HEAD" })).toMatchObject({ status: 404, body: "" });
  });

  test("refuses other methods", async () => {
    const answer = await get("/", { method: "POST" });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("GET, HEAD");
  });

  test("answers 304 to what has not changed", async () => {
    const { headers } = await get("/about.html");
    const etag = headers.etag ?? "";
    const modified = headers["last-modified"] ?? "";
    expect(await get("/about.html", { headers: { "if-none-match": `"x", ${etag}` } })).toMatchObject({
      status: 304,
      body: "",
    });
    expect((await get("/about.html", { headers: { "if-modified-since": modified } })).status).toBe(304);
    const older = new Date(Date.parse(modified) - 1000).toUTCString();
    expect((await get("/about.html", { headers: { "if-modified-since": older } })).status).toBe(200);
    const both = { "if-none-match": '"other"', "if-modified-since": modified };
    expect((await get("/about.html", { headers: both })).status).toBe(200);
  });

  test.each([
    ["bytes=2-4", 206, "234", "bytes 2-4/10"],
    ["bytes=7-", 206, "789", "bytes 7-9/10"],
    ["bytes=-2", 206, "89", "bytes 8-9/10"],
    ["bytes=0-99", 206, "0123456789", "bytes 0-9/10"],
    ["bytes=10-", 416, expect.stringContaining("Range Not Satisfiable"), "bytes */10"],
    ["bytes=0-1,3-4", 200, "0123456789", undefined],
    ["lines=1-2", 200, "0123456789", undefined],
  ])("answers the range %s with %s", async (range, status, body, contentRange) => {
    const answer = await get("/assets/app.js", { headers: { range } });
    expect(answer).toMatchObject({ status, body });
    expect(answer.headers["content-range"]).toBe(contentRange);
  });

  test("answers with the whole file when it changed since the first range", async () => {
    const { headers } = await get("/assets/app.js");
    const ask = (condition: string) =>
      get("/assets/app.js", { headers: { range: "bytes=0-0", "if-range": condition } });
    expect((await ask(headers.etag ?? "")).status).toBe(206);
    expect((await ask('"other"')).status).toBe(200);
  });

  test("gives pages of a single-page application its index, and missing files a 404", async () => {
    expect(await get("/users/7", { port: spaPort })).toMatchObject({ status: 200, body: "<h1>home</h1>" });
    const browser = { headers: { accept: "text/html,*/*" }, port: spaPort };
    expect(await get("/users/john.doe", browser)).toMatchObject({ status: 200, body: "<h1>home</h1>" });
    expect(await get("/assets/missing.js", { port: spaPort })).toMatchObject({ status: 404 });
  });
});
