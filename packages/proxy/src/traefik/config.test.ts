import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { proxyPaths } from "../server/paths.ts";
import type { OwnCertificate, ProxySettings, RoutedSite } from "../server/routed-site.ts";
import { traefikCommand, traefikConfig, traefikFile } from "./config.ts";
import { drainClock } from "./drain-clock.ts";
import { traefikContainer } from "./traefik.ts";

const SETTINGS: ProxySettings = { httpPort: 80, httpsPort: 443, tls: { issuer: "automatic" }, trustedProxies: [] };
const routed = (other: Partial<RoutedSite> = {}): RoutedSite => ({
  id: "a",
  name: "shop",
  routes: [{ host: "a.com", path: "/" }],
  upstreams: [{ host: "10.0.0.2", port: 3000 }],
  slotCount: 1,
  ...other,
});
const config = (sites: readonly RoutedSite[], certificates: readonly OwnCertificate[] = []) =>
  traefikConfig({ sites, settings: SETTINGS, certificates });

const FULL = routed({
  routes: [
    { host: "a.com", path: "/", isHttps: true },
    { host: "a.com", path: "/api", isHttps: true, upstreamPort: 9 },
    { host: "www.a.com", path: "/", isHttps: true, redirectToHost: "a.com" },
    { host: "[::1]", path: "/" },
  ],
  upstreams: [
    { host: "10.0.0.2", port: 3000 },
    { host: "fd00::2", port: 3000 },
  ],
  basicAuth: { username: "me", passwordHash: "$2a$10$hash" },
  isHttpsForced: true,
  isCompressed: true,
  isPrefixStripped: true,
  requestHeaders: { "X-To": "{{ env `PATH` }}" },
  responseHeaders: { "X-Frame-Options": "DENY", Server: "" },
});
const CERTIFICATE: OwnCertificate = { name: "own", hosts: ["a.com"], digest: "d" };

describe("Traefik's file", () => {
  it.each([
    [{ host: "a.com", path: "/" }, "Host(`a.com`)"],
    [{ host: "[::1]", path: "/" }, "Host(`::1`)"],
    [{ host: "a.com", path: "/x/y" }, "Host(`a.com`) && (Path(`/x/y`) || PathPrefix(`/x/y/`))"],
    [{ host: "a.com", path: "/caf%C3%A9" }, "Host(`a.com`) && (Path(`/caf%C3%A9`) || PathPrefix(`/caf%C3%A9/`))"],
  ])("routes %j by %s", (route, rule) => {
    expect(config([routed({ routes: [route] })]).http?.routers).toEqual({
      "r0-http": { entryPoints: ["http"], rule, priority: 10_000 + route.path.length, service: "r0" },
    });
  });

  it("redirects, protects, compresses, strips and sets headers in this order", () => {
    const { http, tls } = config([FULL], [CERTIFICATE]);
    const chains = Object.entries(http?.routers ?? {}).map(([name, router]) => [name, router.middlewares]);
    expect(Object.fromEntries(chains)).toEqual({
      "r0-http": ["r0-http-to"],
      "r0-https": ["r0-https-auth", "r0-https-gzip", "r0-https-strip", "r0-https-headers", "r0-https-retry"],
      "r1-http": ["r1-http-to"],
      "r1-https": ["r1-https-auth", "r1-https-gzip", "r1-https-headers", "r1-https-retry"],
      "r2-http": ["r2-http-to"],
      "r2-https": ["r2-https-to"],
      "r3-http": ["r3-http-auth", "r3-http-gzip", "r3-http-headers", "r3-http-retry"],
    });
    expect(http?.middlewares).toMatchObject({
      "r2-http-to": {
        redirectRegex: { regex: "^[^:]+://[^/]+(.*)$", replacement: `https://a.com$\{1}`, permanent: true },
      },
      "r0-https-auth": { basicAuth: { users: ["me:$2a$10$hash"] } },
      "r0-https-strip": { stripPrefix: { prefixes: ["/api"] } },
      "r0-https-retry": { retry: { attempts: 2, initialInterval: "50ms" } },
    });
    expect(http?.services.r0?.loadBalancer.servers).toEqual([
      { url: "http://10.0.0.2:9" },
      { url: "http://[fd00::2]:9" },
    ]);
    expect(http).toMatchObject({
      services: { r0: { loadBalancer: { serversTransport: "several" } } },
      serversTransports: { several: { forwardingTimeouts: { dialTimeout: "500ms" } } },
    });
    expect(http?.routers["r0-https"]?.tls).toEqual({});
    expect(http?.routers["r2-https"]?.tls).toEqual({ certResolver: "acme", domains: [{ main: "www.a.com" }] });
    expect(tls).toEqual({ certificates: [{ certFile: "/certificates/own.crt", keyFile: "/certificates/own.key" }] });
  });

  it("sends nothing to a site that is down or cannot be protected", () => {
    for (const site of [routed({ upstreams: [] }), routed({ basicAuth: null })]) {
      const { http } = config([site]);
      expect(http?.services.r0?.loadBalancer.servers).toEqual([{ url: "http://127.0.0.1:9" }]);
      expect(http?.routers["r0-http"]?.middlewares).toEqual(["r0-http-down"]);
      expect(http?.middlewares).toMatchObject({ "r0-http-down": { ipAllowList: { rejectStatusCode: 503 } } });
    }
  });

  it("is JSON, which is YAML, and never begins a template", () => {
    const text = fc.oneof(fc.string({ unit: fc.constantFrom("{", "}", '"', "\\", "\n", "$") }), fc.string());
    fc.assert(
      fc.property(text, text, (username, value) => {
        const site = routed({ basicAuth: { username, passwordHash: "x" }, requestHeaders: { "X-A": value } });
        const file = traefikFile(config([site]));
        expect(file).not.toContain("{{");
        expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(config([site]))));
      }),
    );
  });
});

const SCHEMA = fileURLToPath(new URL("../../../../../shared/scripts/schemas/traefik.json", import.meta.url));
const schemaPath = [SCHEMA, process.env.BERTH_TRAEFIK_SCHEMA ?? ""].find((path) => existsSync(path));
const skipReason = "no copy of Traefik's published schema: name one by BERTH_TRAEFIK_SCHEMA";

describe.skipIf(schemaPath === undefined)("Traefik's published schema", { meta: { skipReason } }, () => {
  const isValid = (value: unknown) => {
    const { $schema: _draft, ...schema } = JSON.parse(readFileSync(schemaPath ?? "", "utf8"));
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);
    return validate(JSON.parse(JSON.stringify(value))) || validate.errors;
  };

  it("takes what is written", () => {
    expect(isValid(config([]))).toBe(true);
    expect(isValid(config([routed(), FULL], [CERTIFICATE]))).toBe(true);
    expect(isValid(config([routed({ upstreams: [] })]))).toBe(true);
  });

  it("finds a mistake", () => {
    expect(isValid({ http: { routers: { a: { rule: "Host(`a`)", servce: "a" } } } })).not.toBe(true);
  });
});

it("sends names that no router has where the server's redirect leads", () => {
  const settings = { ...SETTINGS, redirectUrl: "https://elsewhere.example/a?b=$1" };
  const { http } = traefikConfig({ sites: [routed()], settings, certificates: [] });
  expect(http?.routers).toMatchObject({
    "unknown-http": { entryPoints: ["http"], rule: "PathPrefix(`/`)", priority: 1, service: "unknown" },
    "unknown-https": { entryPoints: ["https"], tls: {} },
  });
  expect(http?.middlewares?.["unknown-http-to"]).toEqual({
    redirectRegex: { regex: "^.*$", replacement: "https://elsewhere.example/a?b=$$1", permanent: false },
  });
  expect(http?.services).toHaveProperty("unknown");
});

describe("Traefik's container", () => {
  it("is told where to listen, whom to believe and which authority to ask", () => {
    const tls = { issuer: "automatic", email: "me@a.com", acmeDirectory: "https://ca/dir", acmeRoot: "PEM" } as const;
    const settings = { httpPort: 8080, httpsPort: 8443, tls, trustedProxies: ["10.0.0.0/8", "::1/128"] };
    expect(traefikCommand(settings)).toEqual([
      "traefik",
      "--global.checknewversion=false",
      "--global.sendanonymoususage=false",
      "--log.level=WARN",
      "--providers.file.directory=/etc/traefik/berth",
      "--providers.file.watch=true",
      "--providers.providersthrottleduration=100ms",
      "--entrypoints.http.address=:8080",
      "--entrypoints.http.reuseport=true",
      "--entrypoints.http.transport.lifecycle.requestacceptgracetimeout=1s",
      "--entrypoints.http.forwardedheaders.trustedips=10.0.0.0/8,::1/128",
      "--entrypoints.https.address=:8443",
      "--entrypoints.https.reuseport=true",
      "--entrypoints.https.transport.lifecycle.requestacceptgracetimeout=1s",
      "--entrypoints.https.forwardedheaders.trustedips=10.0.0.0/8,::1/128",
      "--certificatesresolvers.acme.acme.storage=/data/acme.json",
      "--certificatesresolvers.acme.acme.httpchallenge.entrypoint=http",
      "--certificatesresolvers.acme.acme.email=me@a.com",
      "--certificatesresolvers.acme.acme.caserver=https://ca/dir",
      "--certificatesresolvers.acme.acme.cacertificates=/etc/traefik/berth/acme-root.pem",
    ]);
    expect(traefikCommand({ ...SETTINGS, tls: { issuer: "internal" } }).join(" ")).not.toContain("acme");
  });

  it("sees the folder of its file, so that a replaced file is seen too", () => {
    expect(traefikContainer(undefined, proxyPaths("/data/proxy"), SETTINGS)).toMatchObject({
      type: "TRAEFIK",
      image: "traefik:v3",
      mounts: [
        { source: "/data/proxy/config/traefik", target: "/etc/traefik/berth", isReadOnly: true },
        { source: "/data/proxy/data", target: "/data", isReadOnly: false },
        { source: "/data/proxy/certificates", target: "/certificates", isReadOnly: true },
      ],
    });
  });
});

describe("the time that stands for a count", () => {
  it("begins when an upstream loses its last route, or is first asked about", () => {
    let now = 0;
    const clock = drainClock(() => now, 30);
    const [old, young, foreign] = [1, 2, 3].map((last) => ({ host: `10.0.0.${last}`, port: 80 })) as [U, U, U]; // Three.
    clock.route([old]);
    expect(clock.isOver(old)).toBe(false);
    now = 100_000;
    clock.route([young]);
    expect([clock.isOver(old), clock.isOver(foreign)]).toEqual([false, false]);
    now += 29_999;
    expect(clock.isOver(old)).toBe(false);
    now += 1;
    expect([clock.isOver(old), clock.isOver(foreign), clock.isOver(young)]).toEqual([true, true, false]);
    clock.route([young, old]);
    expect(clock.isOver(old)).toBe(false);
  });
});

type U = Parameters<ReturnType<typeof drainClock>["isOver"]>[0];
