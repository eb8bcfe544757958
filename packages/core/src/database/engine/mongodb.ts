import {
  configuration,
  type DatabaseCommand,
  type DumpFormat,
  engineRow,
  given,
  identifier,
  password,
  scripts,
} from "./row.ts";
import { isTls, sslMode, TLS_FIELDS, TLS_PATHS } from "./tls.ts";

const CONFIGURATION_PATH = "/etc/mongo/mongod.conf";
const LOGIN_PATH = "/run/berth-login.yaml";

interface Login {
  readonly mongo_initdb_root_username: string | null;
  readonly mongo_initdb_root_password: string | null;
  readonly enable_ssl: string | null;
}

/** The server's names for the TLS modes of clients. */
const TLS_MODES: Readonly<Record<string, string>> = { allow: "allowTLS", prefer: "preferTLS" };
const TLS_ONLY = "requireTLS";

/** The tools accept a password only from a configuration file. It is YAML, so JSON works. */
const tool = (login: Login, program: string, ...args: string[]): DatabaseCommand => ({
  argv: [
    program,
    `--username=${login.mongo_initdb_root_username}`,
    "--authenticationDatabase=admin",
    `--config=${LOGIN_PATH}`,
    ...(isTls(login) ? ["--ssl", `--sslCAFile=${TLS_PATHS.authority}`] : []),
    "--archive",
    "--gzip",
    ...args,
  ],
  variables: {},
  file: { path: LOGIN_PATH, text: `password: ${JSON.stringify(login.mongo_initdb_root_password)}\n` },
});

const ARCHIVE: DumpFormat = { extension: "archive.gz", isCompressed: true };

const shellTls = (values: Pick<Login, "enable_ssl">): readonly string[] =>
  isTls(values) ? ["--tls", `--tlsCAFile=${TLS_PATHS.authority}`] : [];

/** The shell accepts a password only as an argument, but its scripts can read variables. */
const shell = (login: Login, script: string, ...flags: readonly string[]): DatabaseCommand => ({
  argv: [
    "mongosh",
    ...shellTls(login),
    "--quiet",
    "--norc",
    ...flags,
    "--eval",
    `db.getSiblingDB('admin').auth(process.env.BERTH_LOGIN_USER, process.env.BERTH_LOGIN_PASSWORD); ${script}`,
  ],
  variables: given({
    BERTH_LOGIN_USER: login.mongo_initdb_root_username,
    BERTH_LOGIN_PASSWORD: login.mongo_initdb_root_password,
  }),
});

export const mongodb = engineRow({
  title: "MongoDB",
  collection: "mongodbs",
  image: "mongo:7",
  port: 27_017,
  accounts: ["mongodb"],
  dataPath: "/data/db",
  fields: {
    mongo_initdb_root_username: identifier("root", "Its superuser."),
    mongo_initdb_root_password: password("Password of the superuser."),
    mongo_initdb_database: identifier("default", "Database created at the first start."),
    mongo_conf: configuration("Text of mongod.conf."),
    init_scripts: scripts(".js", ".sh"),
    ...TLS_FIELDS,
    ssl_mode: sslMode(["allow", "prefer", "require", "verify-full"], "require"),
  },
  address: ({ mongo_initdb_root_username, mongo_initdb_root_password, ...values }) => ({
    scheme: "mongodb",
    user: mongo_initdb_root_username,
    password: mongo_initdb_root_password,
    path: `/?directConnection=true${isTls(values) ? "&tls=true" : ""}`,
  }),
  variables: ({ mongo_initdb_root_username, mongo_initdb_root_password, mongo_initdb_database }) =>
    given({
      MONGO_INITDB_ROOT_USERNAME: mongo_initdb_root_username,
      MONGO_INITDB_ROOT_PASSWORD: mongo_initdb_root_password,
      MONGO_INITDB_DATABASE: mongo_initdb_database,
    }),
  start({ mongo_conf, ssl_mode }, certificate) {
    const args = [
      ...(mongo_conf === null ? [] : ["--config", CONFIGURATION_PATH]),
      ...(certificate === null
        ? []
        : [
            `--tlsMode=${TLS_MODES[ssl_mode ?? ""] ?? TLS_ONLY}`,
            `--tlsCertificateKeyFile=${TLS_PATHS.pair}`,
            `--tlsCAFile=${TLS_PATHS.authority}`,
            "--tlsAllowConnectionsWithoutCertificates",
          ]),
    ];
    if (args.length === 0) return {};
    return {
      argv: ["mongod", ...args],
      files: [
        ...(mongo_conf === null ? [] : [{ path: CONFIGURATION_PATH, text: mongo_conf }]),
        ...(certificate === null
          ? []
          : [
              { path: TLS_PATHS.authority, text: certificate.authority },
              { path: TLS_PATHS.pair, text: `${certificate.certificate}${certificate.key}`, isSecret: true },
            ]),
      ],
    };
  },
  // A ping needs no login.
  health: (values) => ["mongosh", ...shellTls(values), "--quiet", "--eval", "db.adminCommand('ping').ok"],
  // Else it would print what the sign-in answers.
  console: (values) => shell(values, "undefined", "--shell"),
  dumps: {
    formats: { one: ARCHIVE, all: ARCHIVE },
    separator: "|",
    hasCollections: true,
    mainField: "mongo_initdb_database",
    isRestoreAtomic: false,
    dump: (values, { database, excludedCollections }) =>
      tool(
        values,
        "mongodump",
        `--db=${database}`,
        ...excludedCollections.map((collection) => `--excludeCollection=${collection}`),
      ),
    dumpAll: (values) => tool(values, "mongodump"),
    restore: (values, { from, into }) =>
      tool(
        values,
        "mongorestore",
        "--drop",
        `--nsInclude=${from}.*`,
        ...(from === into ? [] : [`--nsFrom=${from}.*`, `--nsTo=${into}.*`]),
      ),
    restoreAll: (values) => tool(values, "mongorestore", "--drop"),
    databases: (values) =>
      shell(
        values,
        "db.getMongo().getDBNames().filter((n) => !['admin', 'config', 'local'].includes(n)).forEach((n) => print(n))",
      ),
    countRows: (values, database) =>
      shell(
        values,
        `const d = db.getSiblingDB('${database}'); d.getCollectionInfos({ type: 'collection' }).map((c) => c.name).sort()
          .forEach((n) => print(n + '\t' + d.getCollection(n).countDocuments({})))`,
      ),
  },
});
