import { configuration, type DatabaseCommand, engineRow, fixed, given, identifier, password, text } from "./row.ts";

// All of it or nothing.
const RESTORE_FLAGS = ["--clean", "--if-exists", "--no-acl", "--no-owner", "--single-transaction"];
const PRINT_FLAGS = ["--no-psqlrc", "--tuples-only", "--no-align", "--field-separator=\t"];
const DATABASES = "select datname from pg_database where datallowconn and not datistemplate order by 1";
// Exact counts: the statistics that the server keeps are estimates.
const COUNTS = `select format('%s.%s', table_schema, table_name),
  (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I.%I', table_schema, table_name), false, true, '')))[1]
  from information_schema.tables where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
  order by 1`;
// A database that somebody uses cannot be replaced.
const END_OTHERS =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()";
/** The user that restores is there before, and so may others be. */
const ROLE_STAYS = /current user cannot be dropped|role "[^"]*" (already exists|cannot be dropped)/;
const CONFIGURATION_PATH = "/etc/postgresql/postgresql.conf";

interface Login {
  readonly postgres_user: string | null;
  readonly postgres_password: string | null;
}

const literal = (text: string | null): string => (text === null ? "null" : `'${text.replaceAll("'", "''")}'`);

const psql = (login: Login, database: string, ...args: string[]): DatabaseCommand => ({
  argv: ["psql", `--username=${login.postgres_user}`, `--dbname=${database}`, ...args],
  variables: given({ PGPASSWORD: login.postgres_password }),
});

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
    formats: { one: { extension: "dump", isCompressed: true }, all: { extension: "sql", isCompressed: false } },
    separator: ",",
    hasCollections: false,
    mainField: "postgres_db",
    dump: (values, { database }) => ({
      argv: ["pg_dump", "--format=custom", "--no-acl", "--no-owner", `--username=${values.postgres_user}`, database],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    dumpAll: (values) => ({
      argv: ["pg_dumpall", "--clean", "--if-exists", `--username=${values.postgres_user}`],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    restore: (values, { into }) => ({
      argv: ["pg_restore", ...RESTORE_FLAGS, `--username=${values.postgres_user}`, `--dbname=${into}`],
      variables: given({ PGPASSWORD: values.postgres_password }),
    }),
    restoreAll: (values) =>
      psql(values, "postgres", "--quiet", "--output=/dev/null", `--command=${END_OTHERS}`, "--file=-"),
    keepLogin: (values) => ({
      ...psql(values, "postgres", "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"),
      input: `alter role "${values.postgres_user?.replaceAll('"', '""')}" with password ${literal(values.postgres_password)};\n`,
    }),
    isProblem: (line) => /(ERROR|FATAL):/.test(line) && !ROLE_STAYS.test(line),
    databases: (values) => psql(values, "postgres", ...PRINT_FLAGS, `--command=${DATABASES}`),
    countRows: (values, database) => psql(values, database, ...PRINT_FLAGS, `--command=${COUNTS}`),
  },
});
