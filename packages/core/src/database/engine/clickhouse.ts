import { engineRow, fixed, given, identifier, password, scripts } from "./row.ts";

const LOGIN_PATH = "/run/berth-login.xml";

const xml = (text: string | null): string => (text ?? "").replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export const clickhouse = engineRow({
  title: "ClickHouse",
  collection: "clickhouses",
  image: "clickhouse/clickhouse-server:25.11",
  port: 9000,
  accounts: ["clickhouse"],
  dataPath: "/var/lib/clickhouse",
  fields: {
    clickhouse_admin_user: identifier("default", "Its administrator."),
    clickhouse_admin_password: password("Password of the administrator."),
    clickhouse_db: fixed("default", "Database created at the first start."),
    init_scripts: scripts(".sql", ".sh"),
  },
  address: ({ clickhouse_admin_user, clickhouse_admin_password, clickhouse_db }) => ({
    scheme: "clickhouse",
    user: clickhouse_admin_user,
    password: clickhouse_admin_password,
    path: `/${clickhouse_db}`,
  }),
  variables: ({ clickhouse_admin_user, clickhouse_admin_password, clickhouse_db }) =>
    given({
      CLICKHOUSE_USER: clickhouse_admin_user,
      CLICKHOUSE_PASSWORD: clickhouse_admin_password,
      CLICKHOUSE_DB: clickhouse_db,
      CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT: "1",
    }),
  start: () => ({}),
  client: ({ clickhouse_admin_user, clickhouse_admin_password }) => ({
    argv: ["clickhouse-client", `--config-file=${LOGIN_PATH}`, "--multiquery"],
    variables: {},
    // Versions before 23 read no password from a variable.
    file: {
      path: LOGIN_PATH,
      text: `<config><user>${xml(clickhouse_admin_user)}</user><password>${xml(clickhouse_admin_password)}</password></config>\n`,
    },
  }),
  // By its HTTP port, which answers this without a login.
  health: () => ["wget", "--quiet", "--spider", "http://127.0.0.1:8123/ping"],
  // Its BACKUP writes only to disks named in its configuration.
  dumps: null,
});
