import { asVariable, configuration, type DatabaseStart, engineRow, fixed, given, password } from "./row.ts";

const PORT = 6379;
const DATA_PATH = "/data";
/** The user that is there by itself, whose password is `requirepass`. */
const DEFAULT_USER = "default";

// Redis and what descends from it. Their data are files that only the stopped server reads, so none is dumped and
// restored while it runs.

export const redis = engineRow({
  title: "Redis",
  collection: "redis",
  image: "redis:7.2",
  port: PORT,
  dataPath: DATA_PATH,
  fields: {
    redis_password: asVariable(password("Of its user: the environment variable REDIS_PASSWORD."), "REDIS_PASSWORD"),
    redis_username: asVariable(
      fixed(DEFAULT_USER, "Its user: the environment variable REDIS_USERNAME."),
      "REDIS_USERNAME",
    ),
    redis_conf: configuration("Text of redis.conf."),
  },
  address: (values, image) => ({
    scheme: "redis",
    user: hasUsers(image) ? values.redis_username : null,
    password: values.redis_password,
    path: "/0",
  }),
  // What its client logs in with, in a health check.
  variables: (values) => given({ REDISCLI_AUTH: values.redis_password }),
  start: (values) =>
    startWith(
      // Valkey's image takes the same command line.
      { program: "redis-server", path: "/usr/local/etc/redis/redis.conf", readers: ["redis", "valkey"] },
      { conf: values.redis_conf, user: values.redis_username, password: values.redis_password },
    ),
  // Its client takes the password from a variable, and the user from an argument only.
  health: ({ redis_username: user }) => [
    "redis-cli",
    ...(user === null || user === DEFAULT_USER ? [] : ["--user", user]),
    "ping",
  ],
  dumps: null,
});

export const keydb = engineRow({
  title: "KeyDB",
  collection: "keydbs",
  image: "eqalpha/keydb:latest",
  port: PORT,
  dataPath: DATA_PATH,
  fields: { keydb_password: password("Of its user."), keydb_conf: configuration("Text of keydb.conf.") },
  address: ({ keydb_password }) => addressOf(keydb_password),
  variables: ({ keydb_password }) => given({ REDISCLI_AUTH: keydb_password }),
  start: ({ keydb_conf, keydb_password }) =>
    startWith(
      { program: "keydb-server", path: "/etc/keydb/keydb.conf", readers: ["keydb"] },
      { conf: keydb_conf, user: null, password: keydb_password },
    ),
  health: () => ["keydb-cli", "ping"],
  dumps: null,
});

export const dragonfly = engineRow({
  title: "Dragonfly",
  collection: "dragonflies",
  image: "docker.dragonflydb.io/dragonflydb/dragonfly",
  port: PORT,
  dataPath: DATA_PATH,
  fields: { dragonfly_password: password("Of its user.") },
  address: ({ dragonfly_password }) => addressOf(dragonfly_password),
  // It reads its flags from variables that start with DFLY_.
  variables: ({ dragonfly_password }) =>
    given({ DFLY_requirepass: dragonfly_password, REDISCLI_AUTH: dragonfly_password }),
  start: () => ({}),
  health: () => ["redis-cli", "ping"],
  dumps: null,
});

const addressOf = (secret: string | null) => ({ scheme: "redis", user: null, password: secret, path: "/0" });

/** Older versions know a password and no users. A tag that names no version is a newer one. */
function hasUsers(image: string): boolean {
  const [name = ""] = image.slice(image.lastIndexOf("/") + 1).split("@");
  const major = /:v?(\d+)/.exec(name)?.[1];
  return major === undefined || Number(major) >= 6;
}

interface Login {
  readonly user: string | null;
  readonly password: string | null;
}

/** The password is in the file, since arguments can be read by whoever lists processes. */
function startWith(
  { program, path, readers }: { readonly program: string; readonly path: string; readonly readers: readonly string[] },
  { conf, ...login }: Login & { readonly conf: string | null },
): DatabaseStart {
  const lines = [...(conf === null ? [] : [conf]), ...loginLines(login)];
  if (lines.length === 0) return {};
  return { argv: [program, path], file: { path, text: `${lines.join("\n")}\n`, readers } };
}

function loginLines({ user, password: secret }: Login): readonly string[] {
  if (secret === null) return [];
  if (user === null || user === DEFAULT_USER) return [`requirepass ${quoted(secret)}`];
  return ["user default off", `user ${quoted(user)} on ${quoted(`>${secret}`)} ~* &* +@all`];
}

/** In its configuration, bytes beyond letters and digits are written in hexadecimal. */
const quoted = (value: string): string =>
  `"${[...new TextEncoder().encode(value)].map((byte) => (isPlain(byte) ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`)).join("")}"`;

const isPlain = (byte: number) => /[A-Za-z0-9]/.test(String.fromCharCode(byte));
