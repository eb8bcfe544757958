import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Config, type ENVIRONMENT, readConfig } from "./config.ts";

const { docker: DOCKER } = readConfig({});

describe("proxies that are believed", () => {
  const proxiesOf = (text?: string) => readConfig({ BERTH_TRUSTED_PROXIES: text }).trustedProxies;

  it("are none by default, else addresses and ranges with commas or spaces between them", () => {
    expect([proxiesOf(), proxiesOf("")]).toEqual([[], []]);
    expect(proxiesOf(" 10.0.0.0/8, 192.0.2.7 fd00::/8,::1 ")).toEqual(["10.0.0.0/8", "192.0.2.7", "fd00::/8", "::1"]);
  });

  it.each([
    "proxy.internal",
    "10.0.0.0/33",
    "10.0.0/8",
    "fd00::/129",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "*",
  ])("are refused as %j at the start", (text) => {
    expect(() => proxiesOf(`10.0.0.0/8,${text}`)).toThrow(/^BERTH_TRUSTED_PROXIES is a list of addresses and ranges/);
  });
});

describe("base images of Berth's own Dockerfiles", () => {
  const imagesOf = (text?: string) => Object.fromEntries(readConfig({ BERTH_BASE_IMAGES: text }).baseImages);

  it("are the usual ones by default, else those that the list names", () => {
    expect(imagesOf()).toEqual({});
    expect(imagesOf("python=registry.example:5000/python, node:24-alpine=mirror/node:24")).toEqual({
      python: "registry.example:5000/python",
      "node:24-alpine": "mirror/node:24",
    });
  });

  it.each(["python", "python=", "python=x$(id)", "=x"])("are refused as %j at the start", (text) => {
    expect(() => imagesOf(text)).toThrow("BERTH_BASE_IMAGES is a list of IMAGE=OTHER, separated by commas");
  });
});

describe("the address of Hetzner's API", () => {
  const urlOf = (text?: string) => readConfig({ BERTH_HETZNER_URL: text }).hetznerUrl;

  it("is https, or http on this machine alone, since tokens are sent there", () => {
    expect(urlOf()).toBeUndefined();
    for (const url of ["https://gateway.example/v1", "http://127.0.0.1:9000/v1"]) expect(urlOf(url)).toBe(url);
  });

  it.each(["http://gateway.example/v1", "http://10.0.0.1", "ftp://gateway.example"])(
    "is refused as %j at the start",
    (text) => {
      expect(() => urlOf(text)).toThrow(/^BERTH_HETZNER_URL is an https URL, or an http URL of this machine/);
    },
  );
});

/** What is changed by each setting alone. A new setting needs a row. */
const EFFECTS: Record<keyof typeof ENVIRONMENT.shape, readonly [value: string, change: Partial<Config>]> = {
  BERTH_DATA: ["/srv/berth", { dataFolder: "/srv/berth" }],
  BERTH_HOST: ["127.0.0.1", { apiHost: "127.0.0.1" }],
  BERTH_PORT: ["8001", { apiPort: 8001 }],
  BERTH_PROXY_HOST: ["::1", { proxyHost: "::1" }],
  BERTH_PROXY_PORT: ["81", { proxyPort: 81 }],
  BERTH_DATABASE_URL: ["postgres://db/berth", { databaseUrl: "postgres://db/berth" }],
  BERTH_EMBEDDED: ["pglite", { embedded: "pglite" }],
  BERTH_TERMINAL_IDLE_MINUTES: ["0", { terminalIdleMinutes: 0 }],
  BERTH_RATE_LIMIT: ["0", { requestsPerMinute: 0 }],
  BERTH_CONNECTIONS_PER_ADDRESS: ["7", { connectionsPerAddress: 7 }],
  BERTH_TEAM_SERVERS: ["3", { teamServersMax: 3 }],
  BERTH_TEAM_SHARE: ["50", { teamSharePercent: 50 }],
  BERTH_BUILD_MEMORY_PERCENT: ["60", { buildPercent: { memory: 60, cpu: 100 } }],
  BERTH_BUILD_CPU_PERCENT: ["40", { buildPercent: { memory: 75, cpu: 40 } }],
  BERTH_REPORTED_VERSION: ["4.1.0", { reportedVersion: "4.1.0" }],
  BERTH_ALLOWED_PRIVATE_HOSTS: ["git.internal, 10.0.0.0/8", { allowedPrivateHosts: ["git.internal", "10.0.0.0/8"] }],
  BERTH_PUBLIC_URL: ["https://berth.example", { publicUrl: "https://berth.example" }],
  BERTH_SMTP_URL: ["smtps://mail.example", { mail: { url: "smtps://mail.example", from: "b@example.com" } }],
  BERTH_MAIL_FROM: ["b@example.com", {}], // Read with a mail server alone, as in the row before.
  BERTH_TRUSTED_PROXIES: ["10.0.0.0/8", { trustedProxies: ["10.0.0.0/8"] }],
  BERTH_HETZNER_URL: ["https://one.example", { hetznerUrl: "https://one.example" }],
  BERTH_TELEGRAM_URL: ["https://two.example", { notificationUrls: { telegram: "https://two.example" } }],
  BERTH_PUSHOVER_URL: ["https://three.example", { notificationUrls: { pushover: "https://three.example" } }],
  BERTH_RESEND_URL: ["https://four.example", { notificationUrls: { resend: "https://four.example" } }],
  BERTH_AXIOM_URL: ["https://five.example", { axiomUrl: "https://five.example" }],
  BERTH_DOCKER: ["off", { docker: { ...DOCKER, isWanted: false } }],
  BERTH_DOCKER_SOCKET: ["/run/other.sock", { docker: { ...DOCKER, socketPath: "/run/other.sock" } }],
  BERTH_BUILD_TOOLS: ["fetch", { fetchesBuildTools: true }],
  BERTH_BASE_IMAGES: ["python=mirror/python", { baseImages: new Map([["python", "mirror/python"]]) }],
  BERTH_HTTP_PORT: ["8080", { docker: { ...DOCKER, httpPort: 8080 } }],
  BERTH_HTTPS_PORT: ["8443", { docker: { ...DOCKER, httpsPort: 8443 } }],
  BERTH_ACME_EMAIL: ["a@example.com", { tls: { issuer: "automatic", email: "a@example.com" } }],
  BERTH_ACME_DIRECTORY: [
    "https://acme.example/directory",
    { tls: { issuer: "automatic", acmeDirectory: "https://acme.example/directory" } },
  ],
  BERTH_DOCKER_NETWORK: ["other", { docker: { ...DOCKER, network: "other" } }],
  BERTH_INSTANCE_ID: ["mine", { instanceId: "mine" }],
  BERTH_EXAMPLE: ["off", { deploysExample: false }],
  BERTH_PARALLEL_DEPLOYMENTS: ["1", { parallelDeployments: 1 }],
  BERTH_TASK_EXECUTIONS: ["5", { taskExecutionsKept: 5 }],
  BERTH_EVENT_DAYS: ["0", { eventKeptDays: 0 }],
  BERTH_LOG: ["debug", { logLevel: "debug" }],
};

it.each(Object.entries(EFFECTS))("%s changes what it names, and nothing else", (name, [value, change]) => {
  const needed =
    name === "BERTH_SMTP_URL" ? { BERTH_MAIL_FROM: "b@example.com", BERTH_PUBLIC_URL: "https://b.example" } : {};
  expect(readConfig({ ...needed, [name]: value })).toEqual({ ...readConfig(needed), ...change });
});

it("every setting that is read is used by the server", async () => {
  const folder = fileURLToPath(new URL(".", import.meta.url));
  const paths = (await readdir(folder, { recursive: true })).filter((path) => /(?<!\.test)\.ts$/.test(path));
  const texts = await Promise.all(
    paths.filter((path) => path !== "config.ts").map((path) => readFile(join(folder, path), "utf8")),
  );
  const isUsed = (field: string) =>
    texts.some((text) => new RegExp(`\\bconfig\\.${field}\\b|\\{[^{}]*\\b${field}\\b[^{}]*\\} = config;`).test(text));
  expect(Object.keys(readConfig({})).filter((field) => !isUsed(field))).toEqual([]);
});
