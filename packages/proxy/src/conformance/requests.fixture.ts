import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { ask, HOST, site } from "../proxy.fixture.ts";
import { type ConformanceBed, received } from "./bed.fixture.ts";

/** An application gets the request as it came, and the client its answer. */
export function requestGuarantees(bed: ConformanceBed): void {
  const { upstream, named, echoHead, get, lacks } = bed;

  test("an application gets the request as it came, with what is known of the client and nothing made up", async () => {
    await bed.proxy.put(site("a", [await echoHead()]));
    const forged = { "X-Forwarded-For": "6.6.6.6", "X-Real-IP": "6.6.6.6", Forwarded: "for=6" };
    const answer = await get("a.test", "/x//y/../%2e%2E;p?q=1", { ...forged, "X-Request-Id": "mine" });
    expect(received(answer)).toMatchObject({
      url: "/x//y/../%2e%2E;p?q=1",
      headers: {
        host: "a.test",
        "x-forwarded-for": HOST,
        "x-forwarded-host": "a.test",
        "x-forwarded-proto": "http",
        "x-real-ip": HOST,
      },
    });
    expect(answer.text).not.toMatch(/6\.6\.6\.6|for=6/);
  });

  test("a name and a password are asked for, whatever characters they have", async () => {
    const plain = { username: "me", password: "secret" };
    const odd = { username: 'ö{env.PATH}"\\', password: "{file./etc/passwd}:".repeat(3) };
    await bed.proxy.put(site("a", [await named("a")], { basicAuth: plain }));
    await bed.proxy.put(site("b", [await named("b")], { basicAuth: odd }));
    const as = (host: string, { username, password }: typeof plain) =>
      get(host, "/", { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` });
    expect((await as("a.test", plain)).text).toBe("a /");
    expect((await as("b.test", odd)).text).toBe("b /");
    const wrong = { ...plain, password: "secret " };
    for (const { status, headers } of [await get("a.test"), await as("a.test", wrong), await as("a.test", odd)])
      expect([status, headers["www-authenticate"]]).toEqual([401, expect.stringContaining("Basic")]);
  });

  test("an answer is compressed for those who take it, where that is asked for", async (context) => {
    if (lacks(context, "compression")) return;
    const text = "all work and no play ".repeat(200);
    const answering = await upstream((_request, response) => {
      response.setHeader("Content-Type", "text/plain").end(text);
    });
    await bed.proxy.put(site("a", [answering], { isCompressed: true }));
    await bed.proxy.put(site("b", [answering]));
    const gzip = { "Accept-Encoding": "gzip" };
    expect((await get("a.test", "/", gzip)).headers["content-encoding"]).toBe("gzip");
    expect((await get("b.test", "/", gzip)).headers["content-encoding"]).toBeUndefined();
    expect((await get("a.test")).text).toBe(text);
  });

  test("answers of an unlisted route ask search engines not to list them, whatever the site says", async () => {
    const answering = await upstream((_request, response) => {
      response.setHeader("X-Robots-Tag", "all").end("page");
    });
    const listed = site("a", [answering]);
    const routes = listed.routes.flatMap((route) => [
      { ...route, isUnlisted: true },
      { ...route, host: "listed.test" },
    ]);
    await bed.proxy.put({ ...listed, routes });
    expect((await get("a.test")).headers["x-robots-tag"]).toBe("noindex, nofollow");
    expect((await get("listed.test")).headers["x-robots-tag"]).toBe("all");
  });

  test("headers of a site are set, and are texts to the proxy", async (context) => {
    if (lacks(context, "customHeaders")) return;
    const answering = await upstream((request, response) => {
      response.setHeader("X-Powered-By", "me").end(JSON.stringify({ url: request.url, headers: request.headers }));
    });
    const braces = "{env.PATH} \\{http.request.host\\} {";
    const requestHeaders = { "X-To": braces, Cookie: "", Host: "other.test", "Bad Name": "x", "X-Split": "a\r\nb" };
    const responseHeaders = { "X-Frame-Options": "DENY", "X-Back": braces, "X-Powered-By": "" };
    await bed.proxy.put(site("a", [answering], { requestHeaders, responseHeaders }));
    const answer = await get("a.test", "/", { Cookie: "a=1" });
    expect(answer.headers).toMatchObject({ "x-frame-options": "DENY", "x-back": braces });
    expect(answer.headers).not.toHaveProperty("x-powered-by");
    expect(received(answer).headers).toMatchObject({ "x-to": braces, host: "a.test" });
    expect(received(answer).headers).not.toHaveProperty("cookie");
    expect(answer.text).not.toContain("split");
  });

  test("the dashboard's session reaches no application", async (context) => {
    if (lacks(context, "hidesSession")) return;
    await bed.proxy.put(site("a", [await echoHead()]));
    const forwarded = async (cookie: string) => received(await get("a.test", "/", { Cookie: cookie })).headers.cookie;
    expect(await forwarded("a=1; berth_session=7.abc; b=2")).toBe("a=1; b=2");
    expect(await forwarded("__Host-berth_session=7.abc; my_berth_session=1")).toBe("my_berth_session=1");
    expect((await forwarded("berth_session=7.abc; berth_session=8.def")) ?? "").toBe("");
  });

  test("large answers beside each other arrive whole, also where they are read slowly", async () => {
    const letters = "abcdef";
    const answering = await upstream((request, response) => {
      response.end(Buffer.alloc(LARGE_BYTES, request.url?.at(-1)));
    });
    await bed.proxy.put(site("a", [answering]));
    const read = async (letter: string) => {
      const headers = { Host: "a.test" };
      const sent = request({ host: HOST, port: bed.httpPort, path: `/${letter}`, headers }).end();
      const [answer] = (await once(sent, "response")) as [IncomingMessage];
      const pieces: Buffer[] = [];
      for await (const piece of answer) {
        pieces.push(piece);
        if (letter < "d") await pause(1); // A slow reader.
      }
      return Buffer.concat(pieces).equals(Buffer.alloc(LARGE_BYTES, letter));
    };
    // Several on each connection to the upstream.
    for (let round = 0; round < 3; round += 1) {
      expect(await Promise.all([...letters].map(read))).toEqual([...letters].map(() => true));
    }
  });

  test("an application may answer while it still reads", async (context) => {
    if (lacks(context, "earlyAnswers")) return;
    const mirror = await upstream((request, response) => void request.pipe(response));
    await bed.proxy.put(site("a", [mirror]));
    const headers = { Host: "a.test", "Content-Length": "10" };
    const sent = request({
      host: HOST,
      port: bed.httpPort,
      method: "POST",
      headers,
      signal: AbortSignal.timeout(10_000),
    });
    sent.write("begun");
    const [answer] = (await once(sent, "response")) as [IncomingMessage];
    sent.end(",done");
    expect(await text(answer)).toBe("begun,done");
  });

  test("a request that ends its application is not sent again", async () => {
    let count = 0;
    const ending = await upstream((request) => {
      count += 1;
      request.socket.destroy();
    });
    await bed.proxy.put(site("a", [ending]));
    expect([(await get("a.test")).status, count]).toEqual([502, 1]);
  });

  test("a request over a kept connection that ends its application is sent at most once more", async () => {
    let count = 0;
    const ending = await upstream((request, response) => {
      if (request.url === "/begin") return response.end();
      count += 1;
      request.socket.destroy();
    });
    await bed.proxy.put(site("a", [ending]));
    expect((await get("a.test", "/begin")).status).toBe(200);
    expect((await get("a.test", "/end")).status).toBe(502);
    expect(count).toBeLessThanOrEqual(2);
  });

  test("a large body arrives whole, both ways", async () => {
    const mirror = await upstream((request, response) => void request.pipe(response));
    await bed.proxy.put(site("a", [mirror]));
    const body = "0123456789abcdef".repeat(1 << 17);
    const answer = await ask(bed.httpPort, { host: "a.test", method: "POST", body });
    expect([answer.status, answer.text === body]).toEqual([200, true]);
  });
}

const LARGE_BYTES = 4 * 1024 * 1024;
