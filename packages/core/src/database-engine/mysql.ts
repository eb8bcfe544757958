import {
  configuration,
  type DatabaseCommand,
  type DumpCommands,
  type DumpFormat,
  type EngineField,
  type EngineValues,
  engineRow,
  fixed,
  given,
  identifier,
  password,
} from "./row.ts";

const CONFIGURATION_PATH = "/etc/mysql/conf.d/berth.cnf";
const DATA_PATH = "/var/lib/mysql";
const PORT = 3306;
// A snapshot without locks, row by row, with what is stored as code too.
const DUMP_FLAGS = ["--single-transaction", "--quick", "--routines", "--events"];

const literal = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

const SQL: DumpFormat = { extension: "sql", isCompressed: false };
const PRINT_FLAGS = ["--batch", "--skip-column-names"];
const DATABASES = `select schema_name from information_schema.schemata
  where schema_name not in ('information_schema', 'mysql', 'performance_schema', 'sys') order by 1`;

/** Exact counts of all tables by one statement that is made of their names. @param database A name that needs no quotes. */
const counts = (database: string): string => `set session group_concat_max_len = 4294967295;
  select coalesce(group_concat(concat('select ', quote(table_name), ', count(*) from \`', replace(table_schema, '\`', '\`\`'),
    '\`.\`', replace(table_name, '\`', '\`\`'), '\`') order by table_name separator ' union all '), 'do 0') into @counts
    from information_schema.tables where table_type = 'BASE TABLE' and table_schema = '${database}';
  prepare counts from @counts; execute counts`;

/** MariaDB reads and writes what MySQL does; its programs have names of their own. */
function dumpsWith<const Name extends string>(
  programs: { readonly dump: string; readonly client: string },
  names: Readonly<Record<"rootPassword" | "mainDatabase" | "user" | "password", Name>>,
): DumpCommands<Record<Name, EngineField>> {
  type Values = EngineValues<Record<Name, EngineField>>;
  const command = (values: Values, program: string, ...args: string[]): DatabaseCommand => ({
    argv: [program, "--user=root", ...args],
    variables: given({ MYSQL_PWD: values[names.rootPassword] }),
  });
  return {
    formats: { one: SQL, all: SQL },
    separator: ",",
    hasCollections: false,
    mainField: names.mainDatabase,
    dump: (values, { database }) => command(values, programs.dump, ...DUMP_FLAGS, database),
    dumpAll: (values) => command(values, programs.dump, ...DUMP_FLAGS, "--all-databases"),
    restore: (values, { into }) => command(values, programs.client, into),
    restoreAll: (values) => command(values, programs.client),
    keepLogin: (values) => {
      const root = values[names.rootPassword];
      const logins = [
        ["root", "localhost", root],
        ["root", "%", root],
        [values[names.user], "%", values[names.password]],
      ] as const;
      const statements = logins.flatMap(([user, host, secret]) =>
        user === null || secret === null
          ? []
          : [`alter user if exists ${literal(user)}@${literal(host)} identified by ${literal(secret)};\n`],
      );
      return { ...command(values, programs.client), input: [...statements, "flush privileges;\n"].join("") };
    },
    databases: (values) => command(values, programs.client, ...PRINT_FLAGS, `--execute=${DATABASES}`),
    countRows: (values, database) => command(values, programs.client, ...PRINT_FLAGS, `--execute=${counts(database)}`),
  };
}

const startWith = (conf: string | null) => (conf === null ? {} : { file: { path: CONFIGURATION_PATH, text: conf } });

export const mysql = engineRow({
  title: "MySQL",
  collection: "mysqls",
  image: "mysql:8",
  port: PORT,
  dataPath: DATA_PATH,
  fields: {
    mysql_root_password: password("Of root."),
    mysql_user: identifier("mysql", "A user with all rights on the first database."),
    mysql_password: password("Of that user."),
    mysql_database: identifier("default", "Database that is made first."),
    mysql_conf: configuration("Text of a my.cnf."),
    ssl_mode: fixed("REQUIRED", "How strict clients are where the database offers TLS."),
  },
  address: ({ mysql_user, mysql_password, mysql_database }) => ({
    scheme: "mysql",
    user: mysql_user,
    password: mysql_password,
    path: `/${mysql_database}`,
  }),
  variables: (values) =>
    given({
      MYSQL_ROOT_PASSWORD: values.mysql_root_password,
      MYSQL_USER: values.mysql_user,
      MYSQL_PASSWORD: values.mysql_password,
      MYSQL_DATABASE: values.mysql_database,
    }),
  start: ({ mysql_conf }) => startWith(mysql_conf),
  // By address: the server that the image runs while it is made has a socket only.
  health: () => ["mysqladmin", "ping", "--host=127.0.0.1", "--silent"],
  dumps: dumpsWith(
    { dump: "mysqldump", client: "mysql" },
    {
      rootPassword: "mysql_root_password",
      mainDatabase: "mysql_database",
      user: "mysql_user",
      password: "mysql_password",
    },
  ),
});

export const mariadb = engineRow({
  title: "MariaDB",
  collection: "mariadbs",
  image: "mariadb:11",
  port: PORT,
  dataPath: DATA_PATH,
  fields: {
    mariadb_root_password: password("Of root."),
    mariadb_user: identifier("mariadb", "A user with all rights on the first database."),
    mariadb_password: password("Of that user."),
    mariadb_database: identifier("default", "Database that is made first."),
    mariadb_conf: configuration("Text of a my.cnf."),
  },
  address: ({ mariadb_user, mariadb_password, mariadb_database }) => ({
    scheme: "mysql",
    user: mariadb_user,
    password: mariadb_password,
    path: `/${mariadb_database}`,
  }),
  variables: (values) =>
    given({
      MARIADB_ROOT_PASSWORD: values.mariadb_root_password,
      MARIADB_USER: values.mariadb_user,
      MARIADB_PASSWORD: values.mariadb_password,
      MARIADB_DATABASE: values.mariadb_database,
    }),
  start: ({ mariadb_conf }) => startWith(mariadb_conf),
  health: () => ["healthcheck.sh", "--connect", "--innodb_initialized"],
  dumps: dumpsWith(
    { dump: "mariadb-dump", client: "mariadb" },
    {
      rootPassword: "mariadb_root_password",
      mainDatabase: "mariadb_database",
      user: "mariadb_user",
      password: "mariadb_password",
    },
  ),
});
