import { configuration, type DatabaseCommand, engineRow, fixed, given, identifier, password } from "./row.ts";

const CONFIGURATION_PATH = "/etc/mongo/mongod.conf";
const LOGIN_PATH = "/run/berth-login.yaml";

interface Login {
  readonly mongo_initdb_root_username: string | null;
  readonly mongo_initdb_root_password: string | null;
}

/** The tools read a password from a file, and from no variable. A JSON text is one of YAML. */
const tool = (login: Login, program: string, ...args: string[]): DatabaseCommand => ({
  argv: [
    program,
    `--username=${login.mongo_initdb_root_username}`,
    "--authenticationDatabase=admin",
    `--config=${LOGIN_PATH}`,
    "--archive",
    "--gzip",
    ...args,
  ],
  variables: {},
  file: { path: LOGIN_PATH, text: `password: ${JSON.stringify(login.mongo_initdb_root_password)}\n` },
});

export const mongodb = engineRow({
  title: "MongoDB",
  collection: "mongodbs",
  image: "mongo:7",
  port: 27_017,
  dataPath: "/data/db",
  fields: {
    mongo_initdb_root_username: identifier("root", "Its superuser."),
    mongo_initdb_root_password: password("Of the superuser."),
    mongo_initdb_database: identifier("default", "Database that is made first."),
    mongo_conf: configuration("Text of mongod.conf."),
    ssl_mode: fixed("require", "How strict clients are where the database offers TLS."),
  },
  address: ({ mongo_initdb_root_username, mongo_initdb_root_password }) => ({
    scheme: "mongodb",
    user: mongo_initdb_root_username,
    password: mongo_initdb_root_password,
    path: "/?directConnection=true",
  }),
  variables: ({ mongo_initdb_root_username, mongo_initdb_root_password, mongo_initdb_database }) =>
    given({
      MONGO_INITDB_ROOT_USERNAME: mongo_initdb_root_username,
      MONGO_INITDB_ROOT_PASSWORD: mongo_initdb_root_password,
      MONGO_INITDB_DATABASE: mongo_initdb_database,
    }),
  start: ({ mongo_conf }) =>
    mongo_conf === null
      ? {}
      : { argv: ["mongod", "--config", CONFIGURATION_PATH], file: { path: CONFIGURATION_PATH, text: mongo_conf } },
  // Asking for this needs no login.
  health: () => ["mongosh", "--quiet", "--eval", "db.adminCommand('ping').ok"],
  dumps: {
    separator: "|",
    hasCollections: true,
    mainDatabase: ({ mongo_initdb_database }) => mongo_initdb_database,
    dump: (values, { database, excludedCollections }) =>
      tool(
        values,
        "mongodump",
        `--db=${database}`,
        ...excludedCollections.map((collection) => `--excludeCollection=${collection}`),
      ),
    dumpAll: (values) => tool(values, "mongodump"),
    restore: (values, database) => tool(values, "mongorestore", "--drop", `--nsInclude=${database}.*`),
    restoreAll: (values) => tool(values, "mongorestore", "--drop"),
  },
});
