import { configuration, engineRow, fixed, given, identifier, password, text } from "./row.ts";

const RESTORE_FLAGS = ["--clean", "--if-exists", "--no-acl", "--no-owner"];
const CONFIGURATION_PATH = "/etc/postgresql/postgresql.conf";

export const postgresql = engineRow({
  title: "PostgreSQL",
  collection: "postgresqls",
  image: "postgres:16-alpine",
  port: 5432,
  dataPath: "/var/lib/postgresql/data",
  fields: {
    postgres_user: identifier("postgres", "Its superuser."),
    postgres_password: password("Of the superuser."),
    postgres_db: identifier("postgres", "Database that is made first."),
    postgres_initdb_args: text("Arguments for initdb, used at the first start."),
    postgres_host_auth_method: text("How clients prove who they are, e.g. scram-sha-256; used at the first start."),
    postgres_conf: configuration("Text of postgresql.conf."),
    ssl_mode: fixed("require", "How strict clients are where the database offers TLS."),
  },
  address: ({ postgres_user, postgres_password, postgres_db }) => ({
    scheme: "postgres",
    user: postgres_user,
    password: postgres_password,
    path: `/${postgres_db}`,
  }),
  variables: (values) =>
    given({
      POSTGRES_USER: values.postgres_user,
      POSTGRES_PASSWORD: values.postgres_password,
      POSTGRES_DB: values.postgres_db,
      POSTGRES_INITDB_ARGS: values.postgres_initdb_args,
      POSTGRES_HOST_AUTH_METHOD: values.postgres_host_auth_method,
    }),
  start: ({ postgres_conf }) =>
    postgres_conf === null
      ? {}
      : {
          // The image's own file would listen on all addresses; PostgreSQL by itself listens on localhost only.
          argv: ["postgres", "-c", `config_file=${CONFIGURATION_PATH}`, "-c", "listen_addresses=*"],
          file: { path: CONFIGURATION_PATH, text: postgres_conf },
        },
  health: ({ postgres_user, postgres_db }) => [
    "pg_isready",
    "--host=127.0.0.1",
    `--username=${postgres_user}`,
    `--dbname=${postgres_db}`,
  ],
  dumps: {
    separator: ",",
    hasCollections: false,
    mainDatabase: ({ postgres_db }) => postgres_db,
    dump: (values, { database }) => ({
      argv: ["pg_dump", "--format=custom", "--no-acl", "--no-owner", `--username=${values.postgres_user}`, database],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    dumpAll: (values) => ({
      argv: ["pg_dumpall", `--username=${values.postgres_user}`],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    restore: (values, database) => ({
      argv: ["pg_restore", ...RESTORE_FLAGS, `--username=${values.postgres_user}`, `--dbname=${database}`],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    restoreAll: (values) => ({
      argv: ["psql", "--quiet", `--username=${values.postgres_user}`, "--dbname=postgres"],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
  },
});
