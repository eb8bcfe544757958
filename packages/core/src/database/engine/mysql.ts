import type { Argv } from "../../argv.ts";
import {
  configuration,
  type DatabaseCommand,
  type DatabaseStart,
  type DumpCommands,
  type DumpFormat,
  type EngineField,
  type EngineRow,
  type EngineValues,
  engineRow,
  given,
  identifier,
  PASSWORDS_UNCHANGED,
  password,
  scripts,
  type TlsCertificate,
} from "./row.ts";
import { isTls, sslMode, TLS_FIELDS, TLS_PATHS, tlsFiles } from "./tls.ts";

const CONFIGURATION_PATH = "/etc/mysql/conf.d/berth.cnf";
const DATA_PATH = "/var/lib/mysql";
const PORT = 3306;
// A consistent snapshot without locks, read row by row, with stored routines and events.
const DUMP_FLAGS = ["--single-transaction", "--quick", "--routines", "--events"];

const literal = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

const SQL: DumpFormat = { extension: "sql", isCompressed: false };
const PRINT_FLAGS = ["--batch", "--skip-column-names"];
const DATABASES = `select schema_name from information_schema.schemata
  where schema_name not in ('information_schema', 'mysql', 'performance_schema', 'sys') order by 1`;

/**
 * Exact row counts of all tables, by a statement that is generated from their names. @param database A name that
 * needs no quotes.
 */
const counts = (database: string): string => `set session group_concat_max_len = 4294967295;
  select coalesce(group_concat(concat('select ', quote(table_name), ', count(*) from \`', replace(table_schema, '\`', '\`\`'),
    '\`.\`', replace(table_name, '\`', '\`\`'), '\`') order by table_name separator ' union all '), 'do 0') into @counts
    from information_schema.tables where table_type = 'BASE TABLE' and table_schema = '${database}';
  prepare counts from @counts; execute counts`;

function alterUsers(root: string | null = null, user: string | null = null, secret: string | null = null): string {
  const logins = [
    ["root", "localhost", root],
    ["root", "%", root],
    [user, "%", secret],
  ] as const;
  const statements = logins.flatMap(([name, host, its]) =>
    name === null || its === null
      ? []
      : [`alter user if exists ${literal(name)}@${literal(host)} identified by ${literal(its)};\n`],
  );
  return [...statements, "flush privileges;\n"].join("");
}

/**
 * Tries the next password of root too: an interrupted deployment may have set it already, or the owner by hand.
 * @param prefix Of the image's variables.
 */
const changesWith =
  (client: "mysql" | "mariadb", prefix: "MYSQL" | "MARIADB"): NonNullable<EngineRow["changePasswords"]> =>
  (next) => {
    const [root, user, secret] = ["ROOT_PASSWORD", "USER", "PASSWORD"].map((name) => next[`${prefix}_${name}`]);
    const script = `
      [ "$${prefix}_ROOT_PASSWORD" != "$NEXT_ROOT" ] || [ "$${prefix}_PASSWORD" != "$NEXT" ] || exit ${PASSWORDS_UNCHANGED}
      for known in "$${prefix}_ROOT_PASSWORD" "$NEXT_ROOT"; do
        export MYSQL_PWD="$known"
        ${client} --user=root --execute="do 0" </dev/null >/dev/null 2>&1 && exec ${client} --user=root
      done
      echo "The password of root is neither the one until now nor the new one." >&2
      exit 1`;
    return {
      argv: ["sh", "-c", script],
      variables: { NEXT_ROOT: root ?? "", NEXT: secret ?? "" },
      input: alterUsers(root, user, secret),
    };
  };

/** MariaDB understands the same options; its programs have other names. */
function dumpsWith<const Name extends string>(
  programs: { readonly dump: string; readonly client: string; readonly dumpFlags: readonly string[] },
  names: Readonly<Record<"rootPassword" | "mainDatabase" | "user" | "password", Name>>,
): DumpCommands<Record<Name, EngineField>> {
  type Values = EngineValues<Record<Name, EngineField>>;
  const command = (values: Values, program: string, ...args: string[]): DatabaseCommand => ({
    argv: [program, "--user=root", ...args],
    variables: given({ MYSQL_PWD: values[names.rootPassword] }),
  });
  const dumpFlags = [...DUMP_FLAGS, ...programs.dumpFlags];
  return {
    formats: { one: SQL, all: SQL },
    separator: ",",
    hasCollections: false,
    mainField: names.mainDatabase,
    isRestoreAtomic: false,
    dump: (values, { database }) => command(values, programs.dump, ...dumpFlags, database),
    dumpAll: (values) => command(values, programs.dump, ...dumpFlags, "--all-databases"),
    restore: (values, { into }) => command(values, programs.client, into),
    restoreAll: (values) => command(values, programs.client),
    keepLogin: (values) => {
      const input = alterUsers(values[names.rootPassword], values[names.user], values[names.password]);
      return { ...command(values, programs.client), input };
    },
    databases: (values) => command(values, programs.client, ...PRINT_FLAGS, `--execute=${DATABASES}`),
    countRows: (values, database) => command(values, programs.client, ...PRINT_FLAGS, `--execute=${counts(database)}`),
  };
}

const ACCOUNTS = ["mysql"];
const SCRIPTS = scripts(".sql", ".sh");

interface Start {
  readonly program: string;
  readonly conf: string | null;
  /** Connections without TLS are refused. */
  readonly isTlsOnly: boolean;
}

function startWith({ program, conf, isTlsOnly }: Start, certificate: TlsCertificate | null): DatabaseStart {
  const files = conf === null ? [] : [{ path: CONFIGURATION_PATH, text: conf }];
  if (certificate === null) return { files };
  const { authority, certificate: own, key } = TLS_PATHS;
  const argv: Argv = [program, `--ssl-ca=${authority}`, `--ssl-cert=${own}`, `--ssl-key=${key}`];
  return {
    argv: isTlsOnly ? [...argv, "--require-secure-transport=ON"] : argv,
    files: [...files, ...tlsFiles(certificate)],
  };
}

const clientOf = (program: string, password: string | null, database: string | null): DatabaseCommand => ({
  argv: [program, "--user=root", "--table", ...(database === null ? [] : [database])],
  variables: given({ MYSQL_PWD: password }),
});

export const mysql = engineRow({
  title: "MySQL",
  collection: "mysqls",
  image: "mysql:8",
  port: PORT,
  accounts: ACCOUNTS,
  dataPath: DATA_PATH,
  fields: {
    mysql_root_password: password("Password of root."),
    mysql_user: identifier("mysql", "A user with all rights on the first database."),
    mysql_password: password("Password of that user."),
    mysql_database: identifier("default", "Database created at the first start."),
    mysql_conf: configuration("Text of a my.cnf."),
    init_scripts: SCRIPTS,
    ...TLS_FIELDS,
    ssl_mode: sslMode(["PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"], "REQUIRED"),
  },
  address: ({ mysql_user, mysql_password, mysql_database, ...values }) => ({
    scheme: "mysql",
    user: mysql_user,
    password: mysql_password,
    path: `/${mysql_database}${isTls(values) ? `?ssl-mode=${values.ssl_mode}` : ""}`,
  }),
  variables: (values) =>
    given({
      MYSQL_ROOT_PASSWORD: values.mysql_root_password,
      MYSQL_USER: values.mysql_user,
      MYSQL_PASSWORD: values.mysql_password,
      MYSQL_DATABASE: values.mysql_database,
    }),
  start: ({ mysql_conf: conf, ssl_mode }, certificate) =>
    startWith({ program: "mysqld", conf, isTlsOnly: ssl_mode !== "PREFERRED" }, certificate),
  // Over TCP: the temporary server during the image's initialisation only has a socket.
  health: () => ["mysqladmin", "ping", "--host=127.0.0.1", "--silent"],
  client: ({ mysql_root_password, mysql_database }) => clientOf("mysql", mysql_root_password, mysql_database),
  dumps: dumpsWith(
    // A dump with the transactions' numbers could only be restored into a server that has not executed them.
    { dump: "mysqldump", client: "mysql", dumpFlags: ["--set-gtid-purged=OFF"] },
    {
      rootPassword: "mysql_root_password",
      mainDatabase: "mysql_database",
      user: "mysql_user",
      password: "mysql_password",
    },
  ),
  changePasswords: changesWith("mysql", "MYSQL"),
});

export const mariadb = engineRow({
  title: "MariaDB",
  collection: "mariadbs",
  image: "mariadb:11",
  port: PORT,
  accounts: ACCOUNTS,
  dataPath: DATA_PATH,
  fields: {
    mariadb_root_password: password("Password of root."),
    mariadb_user: identifier("mariadb", "A user with all rights on the first database."),
    mariadb_password: password("Password of that user."),
    mariadb_database: identifier("default", "Database created at the first start."),
    mariadb_conf: configuration("Text of a my.cnf."),
    init_scripts: SCRIPTS,
    ...TLS_FIELDS,
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
  start: ({ mariadb_conf: conf }, certificate) =>
    startWith({ program: "mariadbd", conf, isTlsOnly: true }, certificate),
  health: () => ["healthcheck.sh", "--connect", "--innodb_initialized"],
  client: ({ mariadb_root_password, mariadb_database }) => clientOf("mariadb", mariadb_root_password, mariadb_database),
  dumps: dumpsWith(
    { dump: "mariadb-dump", client: "mariadb", dumpFlags: [] },
    {
      rootPassword: "mariadb_root_password",
      mainDatabase: "mariadb_database",
      user: "mariadb_user",
      password: "mariadb_password",
    },
  ),
  changePasswords: changesWith("mariadb", "MARIADB"),
});
