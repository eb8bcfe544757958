import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ProxySettings, RoutedSite } from "../server/routed-site.ts";
import { fileNameOf } from "../server/routed-site.ts";
import { caddyConfig } from "./config.ts";
import { escapePlaceholders, quoted } from "./literal.ts";
import { slotContents, slotCountFor } from "./site-handlers.ts";

const SETTINGS: ProxySettings = { httpPort: 80, httpsPort: 443, tls: { issuer: "automatic" }, trustedProxies: [] };
const routed = (id: string, other: Partial<RoutedSite> = {}): RoutedSite => ({
  id,
  name: id,
  routes: [{ host: `${id}.test`, path: "/", isHttps: true }],
  upstreams: [{ host: "10.0.0.2", port: 3000 }],
  slotCount: 1,
  ...other,
});
const config = (sites: readonly RoutedSite[], other: Partial<ProxySettings> = {}, certificates = NONE) =>
  caddyConfig({ sites, settings: { ...SETTINGS, ...other }, certificates });
const NONE: Parameters<typeof caddyConfig>[0]["certificates"] = [];
const names = (host: string, own = NONE) =>
  config([routed("a", { routes: [{ host, path: "/", isHttps: true }] })], {}, own).apps.tls;

describe("what Caddy is told", () => {
  it("is the same wherever requests go now, so that a switch is no reload", () => {
    const moved = routed("a", { upstreams: [{ host: "10.0.0.3", port: 4000 }] });
    expect(config([moved])).toEqual(config([routed("a")]));
    expect(config([routed("a", { upstreams: [] })])).toEqual(config([routed("a")]));
  });

  it("always has the admin block, without which a refusal takes the socket away", () => {
    expect(config([]).admin).toEqual({ listen: "unix//run/caddy-admin/admin.sock|0666", config: { persist: false } });
  });

  it("logs requests to hosts with a counted site, and nothing at all without one", () => {
    const { http } = config([routed("a"), routed("b", { isCounted: true })]).apps.http.servers;
    expect(http).toMatchObject({
      logs: { skip_unmapped_hosts: true, logger_names: { "b.test": [""], "b.test.": [""] } },
    });
    const plain = config([routed("a")]);
    expect(plain.logging.logs).toEqual({ default: { level: "WARN" } });
    expect(plain.apps.http.servers.http).not.toHaveProperty("logs");
    expect(JSON.stringify(plain)).not.toContain("access_logger_names");
  });

  it("has no route for what is no host or path", () => {
    const bad = ["*.a.test", "a b", "{env.PATH}", "a.test/", "", "A.test", "-a", "a.test:80", 'a"', "a".repeat(300)];
    const routes = [
      ...bad.map((host) => ({ host, path: "/" })),
      ...["x", "/x/", "/{env.PATH}", "/%zz", "/a b", "/%00", "/`", '/"'].map((path) => ({ host: "a.test", path })),
    ];
    expect(config([routed("a", { routes })])).toEqual(config([]));
  });

  it.each([
    ["a.example.com", { policies: [{ subjects: ["a.example.com"] }] }],
    ["a.test", { policies: [{ subjects: ["a.test"], issuers: [{ module: "internal" }] }] }],
    ["10.0.0.1", { policies: [{ subjects: ["10.0.0.1"], issuers: [{ module: "internal" }] }] }],
    ["[::1]", { policies: [{ subjects: ["::1"], issuers: [{ module: "internal" }] }] }],
    ["server", { policies: [{ subjects: ["server"], issuers: [{ module: "internal" }] }] }],
  ])("has a certificate for %s from where there is one", (host, automation) => {
    expect(names(host).automation).toEqual(automation);
  });

  it("asks nobody for a certificate that the operator has", () => {
    const own = [{ name: "own", hosts: ["*.example.com"], digest: "d1" }];
    expect(names("a.example.com", own)).toEqual({
      certificates: {
        load_files: [{ certificate: "/certificates/own.crt", key: "/certificates/own.key", tags: ["sha256:d1"] }],
      },
    });
    expect(names("a.b.example.com", own).automation).toBeDefined();
    expect(names("example.com", own).automation).toBeDefined();
  });

  it("names the authority and whom it writes to, where they are set", () => {
    const tls = { issuer: "automatic", email: "me@a.com", acmeDirectory: "https://ca.internal/dir" } as const;
    const sites = [routed("a", { routes: [{ host: "a.com", path: "/", isHttps: true }] })];
    expect(config(sites, { tls }).apps.tls.automation?.policies).toEqual([
      { subjects: ["a.com"], issuers: [{ module: "acme", email: "me@a.com", ca: "https://ca.internal/dir" }] },
    ]);
  });

  it("proves names of a cluster by requests alone, which every node passes on", () => {
    const sites = [routed("a", { routes: [{ host: "a.com", path: "/", isHttps: true }] })];
    expect(config(sites, { spansMachines: true }).apps.tls.automation?.policies).toEqual([
      { subjects: ["a.com"], issuers: [{ module: "acme", challenges: { "tls-alpn": { disabled: true } } }] },
    ]);
  });

  it("believes proxies before this one where they are set, and else nobody", () => {
    expect(config([]).apps.http.servers.http).not.toHaveProperty("trusted_proxies");
    expect(config([], { trustedProxies: ["10.0.0.0/8"] }).apps.http.servers.http).toMatchObject({
      trusted_proxies: { source: "static", ranges: ["10.0.0.0/8"] },
    });
  });
});

describe("the connections to several upstreams", () => {
  const transportOf = (slotCount: number, other: Partial<ProxySettings> = {}) =>
    JSON.stringify(config([routed("a", { slotCount })], other)).match(/"transport":({.*?}.*?})/)?.[1];

  it("are tried for a short time, and are kept where a lost upstream closes them", () => {
    expect(transportOf(1)).toContain('"dial_timeout":"2s"');
    expect(transportOf(12)).toContain('"dial_timeout":"500ms"');
    for (const slotCount of [1, 12]) expect(transportOf(slotCount)).toContain('"keep_alive":{"enabled":true');
  });

  it("are not kept where they lead to other machines", () => {
    expect(transportOf(1, { spansMachines: true })).toBe(transportOf(1));
    expect(transportOf(12, { spansMachines: true })).toContain('"keep_alive":{"enabled":false,"probe_interval":"1s"}');
    expect(transportOf(12, { spansMachines: true })).toContain('"dial_timeout":"500ms"');
  });
});

describe("a slot", () => {
  it("holds one address, and those left over take a turn more", () => {
    const upstreams = [
      { host: "10.0.0.2", port: 3000 },
      { host: "fd00::2", port: 3000 },
    ];
    expect([...slotContents(routed("a", { upstreams, slotCount: 3 }))]).toEqual([
      ["a.0", "10.0.0.2:3000"],
      ["a.1", "[fd00::2]:3000"],
      ["a.2", "10.0.0.2:3000"],
    ]);
    expect([...slotContents(routed("a", { upstreams: [], slotCount: 2 }))]).toEqual([
      ["a.0", ""],
      ["a.1", ""],
    ]);
  });

  it("is one for each port that a URL names", () => {
    const routes = [
      { host: "a.test", path: "/" },
      { host: "b.test", path: "/", upstreamPort: 9 },
    ];
    expect([...slotContents(routed("a", { routes }))]).toEqual([
      ["a.0", "10.0.0.2:3000"],
      ["a.9.0", "10.0.0.2:9"],
    ]);
  });

  it("has a name that leads nowhere else, whatever the site's id", () => {
    fc.assert(
      fc.property(fc.string(), (id) => {
        expect(fileNameOf(id)).toMatch(/^[a-z0-9][a-z0-9.-]*$/);
      }),
    );
    expect([fileNameOf("app1-pr-7"), fileNameOf("../x")]).toEqual(["app1-pr-7", expect.stringMatching(/^x\.\w{32}$/)]);
  });
});

describe("a text", () => {
  /** The text after Caddy's placeholder replacement. */
  const replaced = (text: string) => {
    if (!text.includes("{")) return text;
    let result = "";
    for (let at = 0; at < text.length; at++) {
      if (text[at] === "\\" && /[{}]/.test(text[at + 1] ?? "")) continue;
      if (text[at] === "{" && text[at - 1] !== "\\") throw new Error("A placeholder begins.");
      result += text[at];
    }
    return result;
  };

  it("reaches Caddy as itself, with no placeholder in it", () => {
    const odd = fc.string({ unit: fc.constantFrom("{", "}", "\\", "a", ".") });
    fc.assert(
      fc.property(fc.oneof(odd, fc.string()), (text) => {
        expect(replaced(escapePlaceholders(text))).toBe(text);
      }),
    );
  });

  it("is found by its regular expression, and nothing else is", () => {
    const unit = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(unit, unit, (text, other) => {
        const pattern = new RegExp(`^${quoted(text)}$`, "u");
        expect([pattern.test(text), pattern.test(other)]).toEqual([true, text === other]);
        expect(quoted(text)).not.toMatch(/[{}]/);
      }),
    );
  });
});

describe("the number of slots of a site", () => {
  it.each([
    [0, 1, 1],
    [1, 1, 1],
    [2, 1, 12],
    [5, 12, 12],
    [13, 12, 24],
    [1, 12, 12],
    [1, 3, 12],
  ])("for %i upstreams after %i slots is %i", (upstreams, before, expected) => {
    expect(slotCountFor(upstreams, before)).toBe(expected);
  });
});
