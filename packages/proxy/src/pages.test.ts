import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ask, exchange, site, startProxy, startUpstream, type TestProxy, type TestUpstream } from "./proxy.fixture.ts";

const HTML = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

let front: TestProxy;
let app: TestUpstream;
let gone: TestUpstream;

beforeAll(async () => {
  front = await startProxy();
  app = await startUpstream((request, response) => response.end(`${request.headers.authorization}`));
  gone = await startUpstream(() => {});
  await gone.stop();
});
beforeEach(() => front.proxy.sync([]));
afterAll(async () => {
  await front.stop();
  await app.stop();
});

describe("an unknown host", () => {
  it("gets a page that names it, as HTML to a browser and as text to others", async () => {
    const page = await ask(front.port, { host: "nobody.test:81", headers: HTML });
    expect(page).toMatchObject({ status: 404, headers: { "content-type": "text/html; charset=utf-8" } });
    expect(page.text).toContain("<h1>Nothing is served at nobody.test</h1>");
    const text = await ask(front.port, { host: "nobody.test" });
    expect(text).toMatchObject({ status: 404, headers: { "content-type": "text/plain; charset=utf-8" } });
    expect(text.text).toMatch(/^Nothing is served at nobody\.test\.\n/);
  });

  it("cannot write into the page", async () => {
    const host = `"><script>alert('x')</script>&amp;`;
    const { text } = await ask(front.port, { host, headers: HTML });
    expect(text).not.toContain("<script>");
    expect(text).toContain("&#34;&#62;&#60;script&#62;alert(&#39;x&#39;)&#60;/script&#62;&#38;amp;");
  });

  it("is not repeated at any length", async () => {
    const { text } = await ask(front.port, { host: "x".repeat(10_000), headers: HTML });
    expect(text.length).toBeLessThan(2000);
  });

  it("takes no body from the answer to HEAD, and reads an upload to its end", async () => {
    expect(await ask(front.port, { host: "nobody.test", method: "HEAD" })).toMatchObject({ status: 404, text: "" });
    const post = await ask(front.port, { host: "nobody.test", method: "POST", body: "x".repeat(2_000_000) });
    expect(post.status).toBe(404);
  });
});

describe("an application that is down", () => {
  it.each([
    ["has no upstream", () => site("a", [])],
    ["refuses the connection", () => site("a", [gone])],
  ])("is said to be so when it %s", async (_case, down) => {
    await front.proxy.put({ ...down(), name: "<Shop>" });
    const page = await ask(front.port, { host: "a.test", headers: HTML });
    expect(page.status).toBe(503);
    expect(page.headers).toMatchObject({ "retry-after": "5", "cache-control": "no-store" });
    expect(page.text).toContain("The application &#60;Shop&#62; is down");
    const post = await ask(front.port, { host: "a.test", method: "POST", body: "x" });
    expect(post).toMatchObject({ status: 503, headers: { "content-type": "text/plain; charset=utf-8" } });
    expect(post.text).toMatch(/^The application <Shop> is down\.\n/);
  });

  it("is unknown once it is deleted", async () => {
    await front.proxy.put(site("a", []));
    expect((await ask(front.port, { host: "a.test" })).status).toBe(503);
    await front.proxy.delete("a");
    await front.proxy.delete("a");
    expect((await ask(front.port, { host: "a.test" })).status).toBe(404);
  });
});

describe("a route that redirects", () => {
  it("keeps port, path and query, method and body", async () => {
    await front.proxy.put(site("a", [app], { routes: [{ host: "www.a.test", path: "/", redirectToHost: "a.test" }] }));
    const path = "//x/%2e%2e/y?q=1&r=%0d%0a#z";
    const answer = await ask(front.port, { host: "www.a.test:8000", path, method: "POST", body: "x" });
    expect(answer).toMatchObject({ status: 308, headers: { location: `http://a.test:8000${path}` } });
    const plain = await ask(front.port, { host: "WWW.a.test", path: "/" });
    expect(plain.headers.location).toBe("http://a.test/");
  });
});

describe("basic authentication", () => {
  const basic = (text: string) => ({ Authorization: `Basic ${Buffer.from(text).toString("base64")}` });

  it("lets in who knows both name and password, and no one else", async () => {
    await front.proxy.put(site("a", [app], { basicAuth: { username: "jö", password: "p:w " } }));
    const none = await ask(front.port, { host: "a.test", headers: HTML });
    expect(none.status).toBe(401);
    expect(none.headers["www-authenticate"]).toBe('Basic realm="Restricted", charset="UTF-8"');
    for (const wrong of ["jö:p:w", "jö:p:w  ", "jö:", ":p:w ", "JÖ:p:w ", "", "jö:p:w \0"]) {
      expect((await ask(front.port, { host: "a.test", headers: basic(wrong) })).status).toBe(401);
    }
    for (const odd of ["Basic", "Bearer x", "Basic !!!", `Digest ${basic("jö:p:w ").Authorization.slice(6)}`]) {
      expect((await ask(front.port, { host: "a.test", headers: { Authorization: odd } })).status).toBe(401);
    }
    const right = basic("jö:p:w ");
    expect(await ask(front.port, { host: "a.test", headers: right })).toMatchObject({
      status: 200,
      text: right.Authorization,
    });
  });

  it("guards a WebSocket and the page of a site that is down as well", async () => {
    await front.proxy.put(site("a", [], { basicAuth: { username: "u", password: "p" } }));
    expect((await ask(front.port, { host: "a.test" })).status).toBe(401);
    const upgrade = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    expect(await exchange(front.port, upgrade)).toMatch(/^HTTP\/1\.1 401 [\s\S]*Connection: close\r\n/);
  });
});

describe("the public port", () => {
  it("has nothing of the control plane's", async () => {
    for (const path of ["/stats", "/sync", "/watch", "/retire"]) {
      const answer = await ask(front.port, { host: "localhost", path, method: "POST", body: "[]" });
      expect(answer.status).toBe(404);
    }
    expect((await front.proxy.status()).state).toBe("listening");
  });
});
