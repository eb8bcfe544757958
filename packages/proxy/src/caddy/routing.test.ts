import { describeDocker } from "@berth/testing";
import { expect, it } from "vitest";
import { ask, site } from "../proxy.fixture.ts";
import { IMAGE, useCaddy } from "./caddy.fixture.ts";
import { caddyProxy } from "./caddy.ts";

/** A request that the upstream received. */
interface Heard {
  readonly url: string;
  readonly headers: Record<string, string>;
}
const heard = (text: string) => JSON.parse(text) as Heard; // Written by `echoHead`.

describeDocker("a site behind Caddy", [IMAGE], (docker) => {
  const front = useCaddy(docker);
  const echoHead = () =>
    front.upstream((request, response) => response.end(JSON.stringify({ url: request.url, headers: request.headers })));
  const named = (name: string) => front.upstream((request, response) => response.end(`${name} ${request.url}`));
  const ask80 = (host: string, path = "/", headers = {}) => ask(front.options.httpPort, { host, path, headers });

  it("refuses paths that lead to another application by another reading", async () => {
    const [root, api] = [await named("root"), await named("api")];
    await front.proxy.put(site("root", [root], { routes: [{ host: "one.test", path: "/" }] }));
    await front.proxy.put(site("api", [api], { routes: [{ host: "one.test", path: "/api" }] }));
    for (const path of [
      "/api/../x",
      "/api/..%2fx",
      "/api/%2e%2e/x",
      "/api/..;/x",
      "/api\\..\\x",
      "/api/%252e%252e%252fx",
    ])
      expect([path, (await ask80("one.test", path)).status]).toEqual([path, 400]);
    for (const path of ["/api/..x", "/api/a..b/%2fx", "/api?x=/../"])
      expect([path, (await ask80("one.test", path)).text]).toEqual([path, `api ${path}`]);
  });

  it("gets the request as it came, with what is known of the client and nothing that it made up", async () => {
    await front.proxy.put(site("a", [await echoHead()]));
    const forged = {
      "X-Forwarded-For": "6.6.6.6",
      X_Forwarded_For: "6.6.6.6",
      "X-Real-IP": "6.6.6.6",
      Forwarded: "for=6",
    };
    const { text } = await ask80("a.test", "/x//y/../%2e%2E;p?q=1", { ...forged, "X-Request-Id": "mine" });
    expect(heard(text)).toEqual({
      url: "/x//y/../%2e%2E;p?q=1",
      headers: {
        host: "a.test",
        via: "1.1 Caddy",
        "x-forwarded-for": "127.0.0.1",
        "x-forwarded-host": "a.test",
        "x-forwarded-proto": "http",
        "x-forwarded-port": String(front.options.httpPort),
        "x-real-ip": "127.0.0.1",
        "x-request-id": "mine",
      },
    });
  });

  it("hears of the client from a proxy before this one, where that is trusted", async () => {
    const options = { ...(await front.elsewhere("trusted")), trustedProxies: ["127.0.0.0/8"] };
    const proxy = caddyProxy(options);
    await proxy.ensure();
    await proxy.put(site("a", [await echoHead()]));
    const headers = { "X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https" };
    const { text } = await ask(options.httpPort, { host: "a.test", headers });
    expect(heard(text).headers).toMatchObject({
      "x-forwarded-for": "6.6.6.6, 127.0.0.1",
      "x-forwarded-proto": "https",
      "x-real-ip": "6.6.6.6",
    });
  });

  it("asks for a name and a password, whatever characters they have", async () => {
    const [plain, odd] = [
      { username: "me", password: "secret" },
      { username: 'ö{env.PATH}"\\', password: "{file./etc/passwd}:".repeat(5) },
    ];
    await front.proxy.put(site("a", [await named("a")], { basicAuth: plain }));
    await front.proxy.put(site("b", [await named("b")], { basicAuth: odd }));
    await front.proxy.put(site("c", [await named("c")], { basicAuth: { username: "", password: "x" } }));
    const as = (host: string, { username, password }: typeof plain) =>
      ask80(host, "/", { Authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` });
    expect((await as("a.test", plain)).text).toBe("a /");
    expect((await as("b.test", odd)).text).toBe("b /");
    const refused = [
      await ask80("a.test"),
      await as("a.test", { ...plain, password: "secret " }),
      await as("a.test", odd),
    ];
    for (const { status, headers, text } of refused) {
      expect([status, headers["www-authenticate"]]).toEqual([401, expect.stringContaining("Basic")]);
      expect(text).toContain("Sign in");
    }
    expect((await as("c.test", { username: "", password: "x" })).status).toBe(503);
  });

  it("says that it is down, by its name and nothing but its name", async () => {
    const name = "<b>{env.PATH}</b> {file./etc/hostname}";
    await front.proxy.put(site("a", [], { name }));
    const plain = await ask80("a.test");
    expect([plain.status, plain.headers["retry-after"]]).toEqual([503, "5"]);
    expect(plain.text).toContain(`The application ${name} is down.`);
    const page = await ask80("a.test", "/", { Accept: "text/html" });
    expect(page.headers["content-type"]).toContain("text/html");
    expect(page.text).toContain("&#60;b&#62;{env.PATH}&#60;/b&#62; {file./etc/hostname} is down");
  });

  it("says that its application does not answer", async () => {
    const upstream = await front.upstream(() => {});
    await upstream.stop();
    await front.proxy.put(site("a", [upstream]));
    const answer = await ask80("a.test");
    expect([answer.status, answer.text]).toEqual([502, expect.stringContaining("app-a does not answer")]);
  });
});
