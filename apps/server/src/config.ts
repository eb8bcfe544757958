import { isIP } from "node:net";
import { DomainError, isPrivateWay, VERSION } from "@berth/core";
import type { TlsSettings } from "@berth/proxy";
import { z } from "zod";
import { dataFolderPath } from "./data-folder-path.ts";

const port = (about: string) =>
  z
    .string()
    .regex(/^\d{1,5}$/, "is a port number from 0 to 65535")
    .transform(Number)
    .refine((value) => value <= 65535, "is a port number from 0 to 65535")
    .describe(about);
const whole = (about: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, "is a whole number")
    .transform(Number)
    .describe(about);

/** Each becomes a line of a Dockerfile. */
const BASE_IMAGE = /^[a-z0-9][\w.\-/]*(:[\w.-]+)?=[a-zA-Z0-9][\w.\-/:]{0,200}(@sha256:[a-f0-9]{64})?$/;

function halves(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at), pair.slice(at + 1)];
}

const percent = (about: string) => whole(about).refine((value) => value >= 1 && value <= 100, "is from 1 to 100");

const SERVICE_URL_RULE = "is an https URL, or an http URL of this machine, since tokens are sent there";

const serviceUrl = (whose: string) =>
  z
    .url({ protocol: /^https?$/, error: SERVICE_URL_RULE, abort: true })
    .refine(isPrivateWay, SERVICE_URL_RULE)
    .optional()
    .describe(
      `Where ${whose} API is reached, such as a gateway before it: https, or http on this machine. Default: ${whose} own address.`,
    );

/** All settings of the server with their descriptions. `docs/configuration.md` is generated from this table. */
export const ENVIRONMENT = z.object({
  BERTH_DATA: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Data folder: the embedded database, applications, storages, keys. One server per folder. Default: `/var/lib/berth` for root, else `~/.berth`.",
    ),
  BERTH_HOST: z.string().min(1).default("0.0.0.0").describe("Address the API listens on."),
  BERTH_PORT: port("Port of the API.").default(8000),
  BERTH_PROXY_HOST: z.string().min(1).default("0.0.0.0").describe("Address the embedded proxy listens on."),
  BERTH_PROXY_PORT: port(
    "Port of the embedded proxy: applications are reached at `http://NAME.localhost:8080`.",
  ).default(8080),
  BERTH_DATABASE_URL: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A PostgreSQL of your own (15 or newer) instead of the embedded one, such as `postgres://berth:secret@db.internal/berth`.",
    ),
  BERTH_EMBEDDED: z
    .enum(["postgres", "pglite"])
    .optional()
    .describe("`postgres` or `pglite`. Default: PostgreSQL where its programs run, else PGlite."),
  BERTH_TERMINAL_IDLE_MINUTES: whole(
    "A terminal ends when nothing was typed for so many minutes; it says so a minute before. `0` turns that off.",
  ).default(60),
  BERTH_RATE_LIMIT: whole("Requests per minute and token; `0` turns the limit off.").default(1200),
  BERTH_CONNECTIONS_PER_ADDRESS: whole(
    "Connections to the API that one address may have open, trusted proxies left out; `0` means no limit.",
  ).default(500),
  BERTH_TEAM_SERVERS: whole("Servers a team may have, this machine included; `0` means no limit.").default(0),
  BERTH_TEAM_SHARE: percent(
    "Percent of what runs at once (deployments, backups, tasks, jobs) that one team may have.",
  ).default(75),
  BERTH_BUILD_MEMORY_PERCENT: percent(
    "Percent of a server's memory that builds may take: one build without containers; on a Docker server, all of them together. `100`: no limit.",
  ).default(75),
  BERTH_BUILD_CPU_PERCENT: percent(
    "Percent of a server's processors that builds may take, counted likewise. `100`: no limit.",
  ).default(100),
  BERTH_REPORTED_VERSION: z
    .string()
    .min(1)
    .default(VERSION)
    .describe(
      "What `GET /api/v1/version` answers while `PATCH /settings` has set nothing else, for clients that refuse an old version. Default: the released version.",
    ),
  BERTH_ALLOWED_PRIVATE_HOSTS: z
    .string()
    .default("")
    .describe(
      "Hosts, addresses or ranges in private networks that may be called (repositories, git hosts, buckets, servers of other teams than the root team), such as `git.internal,10.0.0.0/8`. Without it none may.",
    ),
  BERTH_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: "is an http or https URL" })
    .optional()
    .describe("The API's own URL: no application can take it."),
  BERTH_SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: "is an smtp or smtps URL" })
    .optional()
    .describe(
      "A mail server for invitations, forgotten passwords and notifications, such as `smtps://user:password@mail.example.com`. Needs `BERTH_MAIL_FROM` and `BERTH_PUBLIC_URL`. Without it links are passed on by hand.",
    ),
  BERTH_MAIL_FROM: z
    .string()
    .max(320)
    .optional()
    .describe("Sender of Berth's mail, such as `Berth <berth@example.com>`."),
  BERTH_TRUSTED_PROXIES: z
    .string()
    .default("")
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .refine((ranges) => ranges.every(isRange), "is a list of addresses and ranges such as 10.0.0.0/8 and fd00::/8")
    .describe(
      "Addresses and ranges of proxies before Berth, such as `10.0.0.0/8,fd00::/8`. The API and the proxies of all servers trust their `X-Forwarded-*` headers and no others.",
    ),
  BERTH_HETZNER_URL: serviceUrl("Hetzner Cloud's"),
  BERTH_TELEGRAM_URL: serviceUrl("Telegram's"),
  BERTH_PUSHOVER_URL: serviceUrl("Pushover's"),
  BERTH_RESEND_URL: serviceUrl("Resend's"),
  BERTH_AXIOM_URL: serviceUrl("Axiom's"),
  BERTH_DOCKER: z
    .enum(["auto", "off"])
    .default("auto")
    .describe("`auto` registers this machine's Docker engine as a server when it answers; `off` leaves it alone."),
  BERTH_DOCKER_SOCKET: z
    .string()
    .startsWith("/")
    .default("/var/run/docker.sock")
    .describe("Socket of this machine's Docker engine."),
  BERTH_BUILD_TOOLS: z
    .enum(["installed", "fetch"])
    .default("installed")
    .describe(
      "`fetch` downloads nixpacks or railpack (one version each, by its checksum) for applications on Docker servers that Berth does not recognise; it runs isolated where Berth is started by root, else as Berth's own user. `installed` uses them only where they are installed.",
    ),
  BERTH_BASE_IMAGES: z
    .string()
    .default("")
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .refine((pairs) => pairs.every((pair) => BASE_IMAGE.test(pair)), "is a list of IMAGE=OTHER, separated by commas")
    .transform((pairs) => new Map(pairs.map((pair) => halves(pair))))
    .describe(
      "Images in place of those of Berth's own Dockerfiles, for all applications: `python=registry.example.com/python,node:24-alpine=registry.example.com/node:24`. A name without a tag stands for all tags, which are kept.",
    ),
  BERTH_HTTP_PORT: port("Port of the proxy beside this machine's Docker engine.").default(80),
  BERTH_HTTPS_PORT: port("Port for https of the proxy beside this machine's Docker engine.").default(443),
  BERTH_ACME_EMAIL: z
    .email("is an e-mail address")
    .optional()
    .describe("E-mail address for the certificate authority, for the proxies of all Docker servers."),
  BERTH_ACME_DIRECTORY: z
    .url("is a URL")
    .optional()
    .describe("Directory URL of another ACME authority than the proxies' default."),
  BERTH_DOCKER_NETWORK: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{1,62}$/, "is a network's name of letters, digits and _ . -")
    .default("berth")
    .describe("Network of this machine's Docker engine that applications join; read when the engine is registered."),
  BERTH_INSTANCE_ID: z
    .string()
    .regex(/^[A-Za-z0-9][\w.-]{1,62}$/, "is a name of letters, digits and _ . -")
    .optional()
    .describe(
      "Names this instance in the labels of everything it creates on engines; fixed at the first start. Default: a new one.",
    ),
  BERTH_EXAMPLE: z
    .enum(["on", "off"])
    .default("on")
    .describe("`off`: do not deploy `examples/hello` on the first start."),
  BERTH_PARALLEL_DEPLOYMENTS: whole(
    "Deployments this process runs at once, over all servers. Each server has its own limit in `concurrent_builds`.",
  ).default(8),
  BERTH_TASK_EXECUTIONS: whole("Executions kept of each scheduled task.").default(100),
  BERTH_EVENT_DAYS: whole("Days that events of teams are kept; `0` means for ever.").default(90),
  BERTH_LOG: z
    .enum(["debug", "info", "warn", "error", "silent"])
    .default("warn")
    .describe("`debug`, `info`, `warn`, `error` or `silent`."),
});

/** This machine's Docker engine, and the ports of its proxy. */
export interface LocalDocker {
  /** Whether the engine becomes a server when it answers. */
  readonly isWanted: boolean;
  readonly socketPath: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly network: string;
}

export interface Config {
  readonly dataFolder: string;
  readonly apiHost: string;
  readonly apiPort: number;
  readonly proxyHost: string;
  readonly proxyPort: number;
  readonly databaseUrl: string | undefined;
  /** Whether `DATABASE_URL` is set, which earlier versions used as their own setting. */
  readonly hasForeignDatabaseUrl: boolean;
  readonly embedded: "postgres" | "pglite" | undefined;
  /** 0: never. */
  readonly terminalIdleMinutes: number;
  readonly requestsPerMinute: number;
  readonly connectionsPerAddress: number;
  /** Servers that a team may have; `null`: unlimited. */
  readonly teamServersMax: number | null;
  /** Share of concurrent runs, of each kind, that a team may have. */
  readonly teamSharePercent: number;
  /** Shares of a server that builds may use; 100: unlimited. */
  readonly buildPercent: { readonly memory: number; readonly cpu: number };
  readonly reportedVersion: string;
  readonly allowedPrivateHosts: readonly string[];
  readonly publicUrl: string | undefined;
  /** Server and sender of mail. */
  readonly mail: { readonly url: string; readonly from: string } | undefined;
  readonly hetznerUrl: string | undefined;
  /** Addresses of services that send notifications, in place of their own. */
  readonly notificationUrls: Partial<Record<"telegram" | "pushover" | "resend", string>>;
  readonly axiomUrl: string | undefined;
  /** Addresses and ranges of proxies in front of the API and of the servers' proxies. */
  readonly trustedProxies: readonly string[];
  readonly docker: LocalDocker;
  /** Images in place of those of Berth's own Dockerfiles, by their names. */
  readonly baseImages: ReadonlyMap<string, string>;
  /** Whether nixpacks and railpack are downloaded where they are not installed. */
  readonly fetchesBuildTools: boolean;
  /** TLS settings of the proxies of all Docker servers. */
  readonly tls: TlsSettings;
  /** Instance id for the first start; `undefined`: a random one. */
  readonly instanceId: string | undefined;
  readonly deploysExample: boolean;
  readonly parallelDeployments: number;
  readonly taskExecutionsKept: number;
  /** Days for which events are stored; 0: for ever. */
  readonly eventKeptDays: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** @throws DomainError `setup.failed` that names the variable. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  // Shells and unit files express "not set" by an empty variable.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = ENVIRONMENT.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = issue?.path.join(".") ?? "A setting";
    throw new DomainError("setup.failed", `${name} ${sentence(issue?.message ?? "is not valid")}.`);
  }
  const env = parsed.data;
  const mail = mailOf(env);
  return {
    dataFolder: dataFolderPath(given),
    apiHost: env.BERTH_HOST,
    apiPort: env.BERTH_PORT,
    proxyHost: env.BERTH_PROXY_HOST,
    proxyPort: env.BERTH_PROXY_PORT,
    databaseUrl: env.BERTH_DATABASE_URL,
    hasForeignDatabaseUrl: given.DATABASE_URL !== undefined && env.BERTH_DATABASE_URL === undefined,
    embedded: env.BERTH_EMBEDDED,
    terminalIdleMinutes: env.BERTH_TERMINAL_IDLE_MINUTES,
    requestsPerMinute: env.BERTH_RATE_LIMIT,
    connectionsPerAddress: env.BERTH_CONNECTIONS_PER_ADDRESS,
    teamServersMax: env.BERTH_TEAM_SERVERS === 0 ? null : env.BERTH_TEAM_SERVERS,
    teamSharePercent: env.BERTH_TEAM_SHARE,
    buildPercent: { memory: env.BERTH_BUILD_MEMORY_PERCENT, cpu: env.BERTH_BUILD_CPU_PERCENT },
    reportedVersion: env.BERTH_REPORTED_VERSION,
    allowedPrivateHosts: env.BERTH_ALLOWED_PRIVATE_HOSTS.split(/[\s,]+/).filter(Boolean),
    publicUrl: env.BERTH_PUBLIC_URL,
    mail,
    hetznerUrl: env.BERTH_HETZNER_URL,
    notificationUrls: {
      ...(env.BERTH_TELEGRAM_URL !== undefined && { telegram: env.BERTH_TELEGRAM_URL }),
      ...(env.BERTH_PUSHOVER_URL !== undefined && { pushover: env.BERTH_PUSHOVER_URL }),
      ...(env.BERTH_RESEND_URL !== undefined && { resend: env.BERTH_RESEND_URL }),
    },
    axiomUrl: env.BERTH_AXIOM_URL,
    trustedProxies: env.BERTH_TRUSTED_PROXIES,
    baseImages: env.BERTH_BASE_IMAGES,
    fetchesBuildTools: env.BERTH_BUILD_TOOLS === "fetch",
    docker: {
      isWanted: env.BERTH_DOCKER !== "off",
      socketPath: env.BERTH_DOCKER_SOCKET,
      httpPort: env.BERTH_HTTP_PORT,
      httpsPort: env.BERTH_HTTPS_PORT,
      network: env.BERTH_DOCKER_NETWORK,
    },
    tls: { issuer: "automatic", email: env.BERTH_ACME_EMAIL, acmeDirectory: env.BERTH_ACME_DIRECTORY },
    instanceId: env.BERTH_INSTANCE_ID,
    deploysExample: env.BERTH_EXAMPLE === "on",
    parallelDeployments: env.BERTH_PARALLEL_DEPLOYMENTS,
    taskExecutionsKept: env.BERTH_TASK_EXECUTIONS,
    eventKeptDays: env.BERTH_EVENT_DAYS,
    logLevel: env.BERTH_LOG,
  };
}

/** @throws DomainError `setup.failed` for a mail server without what mails need */
function mailOf(env: z.infer<typeof ENVIRONMENT>): Config["mail"] {
  if (env.BERTH_SMTP_URL === undefined) return undefined;
  for (const name of ["BERTH_MAIL_FROM", "BERTH_PUBLIC_URL"] as const) {
    if (env[name] === undefined) throw new DomainError("setup.failed", `BERTH_SMTP_URL needs ${name}: set it too.`);
  }
  return { url: env.BERTH_SMTP_URL, from: env.BERTH_MAIL_FROM ?? "" };
}

function isRange(text: string): boolean {
  const [address = "", bits, ...others] = text.split("/");
  const family = isIP(address);
  const isPlain = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 6 ? 128 : 32));
  return family !== 0 && !address.includes("%") && isPlain && others.length === 0;
}

/** Zod's messages begin with a capital letter; ours continue after the variable's name. */
const sentence = (message: string) => message.charAt(0).toLowerCase() + message.slice(1);
