import type { Argv } from "@berth/core";
import type { DatabaseEngine } from "@berth/core/database";

/** Commands by which a client writes and reads a value, given only the URL. */
export interface TestClient {
  /** Image with both the server and the client. */
  readonly image: string;
  write(url: string, value: string): Argv;
  read(url: string): Argv;
}

function mysqlArgv(program: string, url: string, sql: string): Argv {
  return [...mysqlLogin(program, url), new URL(url).pathname.slice(1), `--execute=${sql}`];
}

/**
 * Login arguments for a program that prints values only: MySQL's warns of a password among its arguments, and
 * MariaDB's of its absence.
 */
export function mysqlLogin(program: string, url: string): Argv {
  const { hostname, port, username, password } = new URL(url);
  const secret = decodeURIComponent(password);
  const where = ["--protocol=TCP", `--host=${hostname}`, `--port=${port}`, `--user=${decodeURIComponent(username)}`];
  const values = [...where, "--batch", "--skip-column-names"];
  return program === "mysql"
    ? ["env", `MYSQL_PWD=${secret}`, program, ...values]
    : [program, ...values, `--password=${secret}`];
}

function clickhouseArgv(url: string, sql: string): Argv {
  const { hostname, port, username, password, pathname } = new URL(url);
  const login = [`--user=${decodeURIComponent(username)}`, `--password=${decodeURIComponent(password)}`];
  return [
    "clickhouse-client",
    `--host=${hostname}`,
    `--port=${port}`,
    ...login,
    `--database=${pathname.slice(1)}`,
    `--query=${sql}`,
  ];
}

const insert = (value: string) => `CREATE TABLE t (v text); INSERT INTO t VALUES ('${value}')`;
const select = "SELECT v FROM t";

/** Engines whose images can be made from Debian packages. */
export const TEST_CLIENTS = {
  postgresql: {
    image: "postgres:17-alpine",
    write: (url, value) => ["psql", url, "--quiet", `--command=${insert(value)}`],
    read: (url) => ["psql", url, "--no-align", "--tuples-only", `--command=${select}`],
  },
  mariadb: {
    image: "mariadb:11",
    write: (url, value) => mysqlArgv("mariadb", url, insert(value)),
    read: (url) => mysqlArgv("mariadb", url, select),
  },
  mysql: {
    image: "mysql:8",
    write: (url, value) => mysqlArgv("mysql", url, insert(value)),
    read: (url) => mysqlArgv("mysql", url, select),
  },
  redis: {
    image: "redis:8-alpine",
    write: (url, value) => ["redis-cli", "--no-auth-warning", "-u", url, "SET", "v", value],
    read: (url) => ["redis-cli", "--no-auth-warning", "-u", url, "GET", "v"],
  },
  clickhouse: {
    image: "clickhouse/clickhouse-server:25.11",
    write: (url, value) => clickhouseArgv(url, `CREATE TABLE t ENGINE = Log AS SELECT '${value}' AS v`),
    read: (url) => clickhouseArgv(url, select),
  },
} as const satisfies Partial<Record<DatabaseEngine, TestClient>>;
