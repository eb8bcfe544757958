import {
  configuration,
  type DatabaseCommand,
  engineRow,
  given,
  identifier,
  PASSWORDS_UNCHANGED,
  password,
  scripts,
  text,
} from "./row.ts";
import { isTls, sslMode, TLS_FIELDS, TLS_PATHS, tlsFiles } from "./tls.ts";

// Restores everything or nothing.
const RESTORE_FLAGS = ["--clean", "--if-exists", "--no-acl", "--no-owner", "--single-transaction"];
const PRINT_FLAGS = ["--no-psqlrc", "--tuples-only", "--no-align", "--field-separator=\t"];
const DATABASES = "select datname from pg_database where datallowconn and not datistemplate order by 1";
// Exact counts: the statistics that the server keeps are estimates.
const COUNTS = `select format('%s.%s', table_schema, table_name),
  (xpath('/row/c/text()', query_to_xml(format('select count(*) as c from %I.%I', table_schema, table_name), false, true, '')))[1]
  from information_schema.tables where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
  order by 1`;
// A database in use cannot be replaced, and clients reconnect at once: connections are refused until the database is
// recreated, which opens it again. Databases that the dump does not replace are opened at the end, which the client
// reaches even if its input breaks off. The statements change the shared catalogue, since a database cannot close
// itself by a command.
const CLOSE = "update pg_catalog.pg_database set datallowconn = false where datname <> 'template0'";
const OPEN = "update pg_catalog.pg_database set datallowconn = true where datname <> 'template0' and not datallowconn";
const END_OTHERS =
  "select pg_terminate_backend(pid) from pg_stat_activity where datname is not null and pid <> pg_backend_pid()";
// The second round ends clients that connected during the first.
const END_ALL_OTHERS = `do $$ begin perform pid from (${END_OTHERS}) ended(pid); perform pg_sleep(0.5);
  perform pg_stat_clear_snapshot(); perform pid from (${END_OTHERS}) ended(pid); end $$`;
// Cancels the statement, not the connection: a client that replaces all databases must still open them again.
const interrupt = (name: string) =>
  `select pg_cancel_backend(pid) from pg_stat_activity where application_name = '${name}' and pid <> pg_backend_pid()`;
/** This database is closed only briefly, so a restore can connect even after an earlier one was killed. */
const ENTRY = "template1";
/** The restoring user already exists, and other roles may exist too. */
const ROLE_STAYS = /current user cannot be dropped|role "[^"]*" (already exists|cannot be dropped)/;
const CONFIGURATION_PATH = "/etc/postgresql/postgresql.conf";
const ACCESS_PATH = "/etc/postgresql/pg_hba.conf";
/** TLS modes that also allow connections without TLS. */
const PLAIN_MODES: ReadonlySet<string> = new Set(["allow", "prefer"]);

/** The image's pg_hba.conf, with TLS required from outside the container. */
const tlsOnly = (method: string | null): string => `local all all trust
host all all 127.0.0.1/32 trust
host all all ::1/128 trust
local replication all trust
host replication all 127.0.0.1/32 trust
host replication all ::1/128 trust
hostssl all all all ${method ?? "scram-sha-256"}
`;

interface Login {
  readonly postgres_user: string | null;
  readonly postgres_password: string | null;
}

const CHANGE_PASSWORD = `[ "$POSTGRES_PASSWORD" != "$NEXT_PASSWORD" ] || exit ${PASSWORDS_UNCHANGED}
export PGPASSWORD="$POSTGRES_PASSWORD"
exec psql --username="$POSTGRES_USER" --dbname=${ENTRY} --no-password --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file=-`;

const literal = (text: string | null): string => (text === null ? "null" : `'${text.replaceAll("'", "''")}'`);

const alterRole = (user: string | null = null, secret: string | null = null): string =>
  `alter role "${(user ?? "").replaceAll('"', '""')}" with password ${literal(secret)};\n`;

const psql = (login: Login, database: string, ...args: string[]): DatabaseCommand => ({
  argv: ["psql", `--username=${login.postgres_user}`, `--dbname=${database}`, ...args],
  variables: given({ PGPASSWORD: login.postgres_password }),
});

export const postgresql = engineRow({
  title: "PostgreSQL",
  collection: "postgresqls",
  image: "postgres:16-alpine",
  port: 5432,
  accounts: ["postgres"],
  dataPath: "/var/lib/postgresql/data",
  fields: {
    postgres_user: identifier("postgres", "Its superuser."),
    postgres_password: password("Password of the superuser."),
    postgres_db: identifier("postgres", "Database created at the first start."),
    postgres_initdb_args: text("Arguments for initdb, used at the first start."),
    postgres_host_auth_method: text("How clients authenticate, e.g. scram-sha-256; used at the first start."),
    postgres_conf: configuration("Text of postgresql.conf."),
    init_scripts: scripts(".sql", ".sh"),
    ...TLS_FIELDS,
    ssl_mode: sslMode(["allow", "prefer", "require", "verify-ca", "verify-full"], "require"),
  },
  address: ({ postgres_user, postgres_password, postgres_db, ...values }) => ({
    scheme: "postgres",
    user: postgres_user,
    password: postgres_password,
    path: `/${postgres_db}${isTls(values) ? `?sslmode=${values.ssl_mode}` : ""}`,
  }),
  variables: (values) =>
    given({
      POSTGRES_USER: values.postgres_user,
      POSTGRES_PASSWORD: values.postgres_password,
      POSTGRES_DB: values.postgres_db,
      POSTGRES_INITDB_ARGS: values.postgres_initdb_args,
      POSTGRES_HOST_AUTH_METHOD: values.postgres_host_auth_method,
    }),
  start({ postgres_conf, postgres_host_auth_method, ssl_mode }, certificate) {
    const isPlainRefused = certificate !== null && !PLAIN_MODES.has(ssl_mode ?? "");
    const settings = {
      // The image's own configuration listens on all addresses; the default of PostgreSQL is localhost only.
      ...(postgres_conf === null ? {} : { config_file: CONFIGURATION_PATH, listen_addresses: "*" }),
      ...(certificate === null ? {} : { ssl: "on", ssl_cert_file: TLS_PATHS.certificate, ssl_key_file: TLS_PATHS.key }),
      ...(isPlainRefused ? { hba_file: ACCESS_PATH } : {}),
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    if (args.length === 0) return {};
    return {
      argv: ["postgres", ...args],
      files: [
        ...(postgres_conf === null ? [] : [{ path: CONFIGURATION_PATH, text: postgres_conf }]),
        ...(certificate === null ? [] : tlsFiles(certificate)),
        ...(isPlainRefused ? [{ path: ACCESS_PATH, text: tlsOnly(postgres_host_auth_method) }] : []),
      ],
    };
  },
  health: ({ postgres_user, postgres_db }) => [
    "pg_isready",
    "--host=127.0.0.1",
    `--username=${postgres_user}`,
    `--dbname=${postgres_db}`,
  ],
  // Else it continues after a statement that failed, and ends as if nothing had.
  client: (values) => psql(values, values.postgres_db ?? ENTRY, "--set=ON_ERROR_STOP=1"),
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
      psql(
        values,
        ENTRY,
        ...["--quiet", "--output=/dev/null"],
        ...[OPEN, "\\connect postgres", CLOSE, END_ALL_OTHERS].map((command) => `--command=${command}`),
        ...["--file=-", `--command=${OPEN}`],
      ),
    keepLogin: (values) => ({
      ...psql(values, ENTRY, "--quiet", "--set=ON_ERROR_STOP=1", "--file=-"),
      input: `${OPEN};\n${alterRole(values.postgres_user, values.postgres_password)}`,
    }),
    isRestoreAtomic: true,
    interruption: {
      variable: "PGAPPNAME",
      command: (values, name) => psql(values, ENTRY, ...PRINT_FLAGS, `--command=${interrupt(name)}`),
    },
    isProblem: (line) => /(ERROR|FATAL):/.test(line) && !ROLE_STAYS.test(line),
    databases: (values) => psql(values, "postgres", ...PRINT_FLAGS, `--command=${DATABASES}`),
    countRows: (values, database) => psql(values, database, ...PRINT_FLAGS, `--command=${COUNTS}`),
  },
  changePasswords: ({ POSTGRES_USER, POSTGRES_PASSWORD = "" }) => ({
    argv: ["sh", "-c", CHANGE_PASSWORD],
    variables: { NEXT_PASSWORD: POSTGRES_PASSWORD },
    input: alterRole(POSTGRES_USER, POSTGRES_PASSWORD),
  }),
});
