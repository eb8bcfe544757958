import type { Argv } from "../../argv.ts";
import {
  asVariable,
  configuration,
  type DatabaseStart,
  engineRow,
  fixed,
  given,
  password,
  type TlsCertificate,
} from "./row.ts";
import { isTls, TLS_FIELDS, TLS_PATHS, tlsFiles } from "./tls.ts";

const PORT = 6379;
const TLS_PORT = 6380;
const DATA_PATH = "/data";
/** The built-in user, whose password is `requirepass`. */
const DEFAULT_USER = "default";

// Redis and its descendants. Their data are files that only a stopped server can load, so they are not dumped or
// restored while running.

export const redis = engineRow({
  title: "Redis",
  collection: "redis",
  image: "redis:7.2",
  port: PORT,
  tlsPort: TLS_PORT,
  // The second account is that of the Valkey image.
  accounts: ["redis", "valkey"],
  dataPath: DATA_PATH,
  fields: {
    redis_password: asVariable(
      password("Password of its user: the environment variable REDIS_PASSWORD."),
      "REDIS_PASSWORD",
    ),
    redis_username: asVariable(
      fixed(DEFAULT_USER, "Its user: the environment variable REDIS_USERNAME."),
      "REDIS_USERNAME",
    ),
    redis_conf: configuration("Text of redis.conf."),
    ...TLS_FIELDS,
  },
  address: (values, image) => ({
    ...addressOf(values, values.redis_password),
    user: hasUsers(image) ? values.redis_username : null,
  }),
  // The client reads its password from this variable in health checks.
  variables: (values) => given({ REDISCLI_AUTH: values.redis_password }),
  start: (values, certificate) =>
    startWith(
      // The image of Valkey accepts the same command line.
      { program: "redis-server", path: "/usr/local/etc/redis/redis.conf" },
      { conf: values.redis_conf, user: values.redis_username, password: values.redis_password, certificate },
    ),
  health: (values) => [...redisClient(values), "ping"],
  client: (values) => ({ argv: redisClient(values), variables: given({ REDISCLI_AUTH: values.redis_password }) }),
  dumps: null,
});

export const keydb = engineRow({
  title: "KeyDB",
  collection: "keydbs",
  image: "eqalpha/keydb:latest",
  port: PORT,
  tlsPort: TLS_PORT,
  accounts: ["keydb"],
  dataPath: DATA_PATH,
  fields: {
    keydb_password: password("Password of its user."),
    keydb_conf: configuration("Text of keydb.conf."),
    ...TLS_FIELDS,
  },
  address: (values) => addressOf(values, values.keydb_password),
  variables: ({ keydb_password }) => given({ REDISCLI_AUTH: keydb_password }),
  start: ({ keydb_conf, keydb_password }, certificate) =>
    startWith(
      { program: "keydb-server", path: "/etc/keydb/keydb.conf" },
      { conf: keydb_conf, user: null, password: keydb_password, certificate },
    ),
  health: (values) => ["keydb-cli", ...clientTls(values), "ping"],
  client: (values) => ({
    argv: ["keydb-cli", ...clientTls(values)],
    variables: given({ REDISCLI_AUTH: values.keydb_password }),
  }),
  dumps: null,
});

export const dragonfly = engineRow({
  title: "Dragonfly",
  collection: "dragonflies",
  image: "docker.dragonflydb.io/dragonflydb/dragonfly",
  port: PORT,
  tlsPort: TLS_PORT,
  accounts: ["dfly"],
  dataPath: DATA_PATH,
  fields: { dragonfly_password: password("Password of its user."), ...TLS_FIELDS },
  address: (values) => addressOf(values, values.dragonfly_password),
  // The image reads flags from variables that start with DFLY_.
  variables: ({ dragonfly_password }) =>
    given({ DFLY_requirepass: dragonfly_password, REDISCLI_AUTH: dragonfly_password }),
  start: (_values, certificate) => (certificate === null ? {} : { argv: DRAGONFLY_TLS, files: tlsFiles(certificate) }),
  health: (values) => ["redis-cli", ...clientTls(values), "ping"],
  client: (values) => ({
    argv: ["redis-cli", ...clientTls(values)],
    variables: given({ REDISCLI_AUTH: values.dragonfly_password }),
  }),
  dumps: null,
});

/** The client reads the password from a variable, but the user only from an argument. */
const redisClient = ({
  redis_username: user,
  ...values
}: {
  readonly redis_username: string | null;
  readonly enable_ssl: string | null;
}): Argv => ["redis-cli", ...clientTls(values), ...(user === null || user === DEFAULT_USER ? [] : ["--user", user])];

const addressOf = (values: { readonly enable_ssl: string | null }, secret: string | null) => ({
  scheme: isTls(values) ? "rediss" : "redis",
  user: null,
  password: secret,
  path: "/0",
});

const clientTls = (values: { readonly enable_ssl: string | null }): readonly string[] =>
  isTls(values) ? ["-p", String(TLS_PORT), "--tls", "--cacert", TLS_PATHS.authority] : [];

/** The image's own arguments, with TLS required. */
const DRAGONFLY_TLS: Argv = [
  "dragonfly",
  "--logtostderr",
  `--port=${TLS_PORT}`,
  "--tls",
  `--tls_cert_file=${TLS_PATHS.certificate}`,
  `--tls_key_file=${TLS_PATHS.key}`,
];

/** TLS required; clients need no certificate. */
const TLS_LINES = [
  "port 0",
  `tls-port ${TLS_PORT}`,
  `tls-ca-cert-file ${TLS_PATHS.authority}`,
  `tls-cert-file ${TLS_PATHS.certificate}`,
  `tls-key-file ${TLS_PATHS.key}`,
  "tls-auth-clients no",
];

/** Versions before 6 have a password but no users. A tag without a version counts as newer. */
function hasUsers(image: string): boolean {
  const [name = ""] = image.slice(image.lastIndexOf("/") + 1).split("@");
  const major = /:v?(\d+)/.exec(name)?.[1];
  return major === undefined || Number(major) >= 6;
}

interface Login {
  readonly user: string | null;
  readonly password: string | null;
}

/** The password is written to the file, since everyone who lists processes can read arguments. */
function startWith(
  { program, path }: { readonly program: string; readonly path: string },
  {
    conf,
    certificate,
    ...login
  }: Login & { readonly conf: string | null; readonly certificate: TlsCertificate | null },
): DatabaseStart {
  const lines = [...(conf === null ? [] : [conf]), ...(certificate === null ? [] : TLS_LINES), ...loginLines(login)];
  if (lines.length === 0) return {};
  const configured = { path, text: `${lines.join("\n")}\n`, isSecret: true } as const;
  return {
    argv: [program, path],
    files: [configured, ...(certificate === null ? [] : tlsFiles(certificate))],
  };
}

function loginLines({ user, password: secret }: Login): readonly string[] {
  if (secret === null) return [];
  if (user === null || user === DEFAULT_USER) return [`requirepass ${quoted(secret)}`];
  return ["user default off", `user ${quoted(user)} on ${quoted(`>${secret}`)} ~* &* +@all`];
}

/** In the configuration, bytes other than letters and digits are written in hexadecimal. */
const quoted = (value: string): string =>
  `"${[...new TextEncoder().encode(value)].map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`)).join("")}"`;

const isPlain = (byte: number) => /[A-Za-z0-9]/.test(String.fromCharCode(byte));
