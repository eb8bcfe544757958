// The minimal handler that the API is compared with: node:http and pg, the same queries, nothing else.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

const TOKEN = `select t.id, t.team_id, t.user_id, t.name, t.abilities, t.expires_at, t.last_used_at, t.created_at, m.role,
  (select value from setting where key = 'is_api_enabled') as is_api_enabled
  from token t join team_member m on m.team_id = t.team_id and m.user_id = t.user_id where t.hash = $1 and (t.expires_at is null or t.expires_at > now())`;
const APPLICATIONS = `select r.id, r.uuid, r.team_id, r.environment_id, r.server_id, r.destination_id, r.name,
  r.description, r.status, r.desired_state, r.removing_at, r.created_at, r.updated_at,
  a.source, a.fqdn, a.settings, a.restart_count, a.last_restart_at, a.last_online_at
  from resource r join application a on a.resource_id = r.id`;
const ONE = `${APPLICATIONS} where r.uuid = $1 and r.team_id = $2`;
const PAGE = `${APPLICATIONS} where r.team_id = $1 order by r.id limit 50`;
const TOTAL = "select sum(total) from resource_count where team_id = $1 and kind = 'application'";

type Row = Readonly<Record<string, unknown>>;

const query = async (name: string, text: string, values: readonly unknown[]): Promise<readonly Row[]> =>
  (await pool.query({ name, text, values: [...values] })).rows;

const find = (uuid: string, team: unknown) => query("one", ONE, [uuid, team]);

/** `/page`, or the identifiers of applications, separated by commas. */
async function answer(path: string, team: unknown): Promise<readonly Row[]> {
  if (path !== "page") return (await Promise.all(path.split(",").map((uuid) => find(uuid, team)))).flat();
  const [rows] = await Promise.all([query("page", PAGE, [team]), query("total", TOTAL, [team])]);
  return rows;
}

const server = createServer(async (request, response) => {
  const secret = (request.headers.authorization ?? "").replace(/^Bearer (\d+\|)?/, "");
  const hash = createHash("sha256").update(secret).digest("hex");
  const [token] = await query("token", TOKEN, [hash]);
  if (token === undefined) {
    response.writeHead(401).end();
    return;
  }
  const rows = await answer((request.url ?? "").split("/").at(-1) ?? "", token.team_id);
  if (rows.length === 0) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(rows.map(({ settings, ...row }) => ({ ...row, ...(settings as Row) }))));
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address) process.stdout.write(`${address.port}\n`);
});
