// What 1,000 servers with 20,000 containers cost two control planes, and what happens when one of them is killed.
import { copyFileSync, mkdtempSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { deploy, made, placeOf } from "../apps/server/e2e/applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { until } from "../packages/testing/src/until.ts";
import { benchDatabase } from "./database.ts";
import { FLEET_MAIN, register, withEngines } from "./fleet.ts";
import { cpuMs, rssMb } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";
import type { Copy } from "./simulated-engines.ts";

const SERVERS = 1_000;
const CONTAINERS_EACH = 20;
const SETTLE_SECONDS = 30;
const IDLE_SECONDS = 60;
const CHANGES = 20;
const WAIT_SECONDS = 180;
const SHARE_MAX = 25;
const RSS_MB_MAX = 400;
const SEEN_SECONDS_MAX = 5;
/** The lease of a server, and the time between two visits. */
const TAKEN_OVER_SECONDS_MAX = 11;

type Database = Awaited<ReturnType<typeof benchDatabase>>;

export async function benchLargeFleet(): Promise<readonly Figure[]> {
  const database = await benchDatabase();
  try {
    return await withEngines(SERVERS, 0, (sockets) => measure(database, sockets));
  } finally {
    await database.stop();
  }
}

async function measure(database: Database, sockets: string): Promise<readonly Figure[]> {
  const env = { BERTH_DATABASE_URL: database.url, BERTH_ENGINES: sockets };
  const planes: TestServer[] = [];
  try {
    const first = await testServer({ main: FLEET_MAIN, env });
    planes.push(first);
    await fill(first, database, sockets);
    const dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
    copyFileSync(join(first.dataFolder, "secret.key"), join(dataFolder, "secret.key"));
    const second = await testServer({ main: FLEET_MAIN, env, dataFolder });
    planes.push(second);
    await until(() => isWatchedOnce(sockets), { what: "each engine is watched once", seconds: WAIT_SECONDS });
    const figures = [...(await atRest([first, second]))];
    const changed = await resourcesOf(database);
    figures.push(...(await changes(database, sockets, changed.slice(0, CHANGES))));
    await first.kill();
    figures.push(...(await takeover(database, sockets, changed.slice(CHANGES))));
    figures.push(told("The control plane that is left, RSS", rssMb(second.pid()), " MB"));
    return figures;
  } finally {
    for (const plane of planes) await plane.dispose();
  }
}

/** Deploys one application to one server, and copies both. */
async function fill(server: TestServer, database: Database, sockets: string): Promise<void> {
  const [server_uuid] = await register(server, 1);
  const uuid = await made(server, "/applications/dockerimage", {
    ...{
      ...(await placeOf(server)),
      server_uuid,
      name: "measured",
      docker_registry_image_name: "simulated/application",
    },
    ...{ ports_exposes: readFileSync(join(sockets, "port"), "utf8"), autogenerate_domain: false },
    // The copies have a check of their image: otherwise Berth itself would ask 20,000 applications for their health,
    // which is not what this measures.
    health_check_enabled: false,
  });
  const { status, error, log } = await deploy(server, uuid);
  if (status !== "finished") throw new Error(`The application was not deployed: ${error}\n${log}`);
  await server.stop();
  await database.query(COPIES);
  await database.query("vacuum analyze");
  const rows = await database.query(`
    select server.name as server, resource_uuid, deployment_uuid
    from release join server on server.id = release.server_id join resource on resource.id = release.resource_id
    where resource.name <> 'measured'`);
  const copies = rows.map(
    (row): Copy => ({
      engine: Number(String(row.server).replace("server-", "")) - 1,
      resource: String(row.resource_uuid),
      deployment: String(row.deployment_uuid),
    }),
  );
  await control(sockets, "/copies", copies);
  await server.start();
}

const uuidSql = (prefix: string) => `'${prefix}' || substr(md5(random()::text || n || server.id), 1, 23)`;

/** A copy of a row of `table`, with these columns of its own. */
const copySql = (table: string, columns: string) =>
  `(jsonb_populate_record(${table}, jsonb_build_object(${columns}))).*`;

const nextId = (table: string) => `nextval(pg_get_serial_sequence('${table}', 'id'))`;

const COPIES = `
  insert into server overriding system value
  select ${copySql("server", `'id', ${nextId("server")}, 'uuid', ${uuidSql("s")}, 'name', 'server-' || n, 'ip', '10.77.' || n / 250 || '.' || n % 250`)}
  from server, generate_series(2, ${SERVERS}) n where name = 'server-1';

  insert into destination overriding system value
  select ${copySql("destination", `'id', ${nextId("destination")}, 'uuid', ${uuidSql("n")}, 'server_id', server.id`)}
  from destination join server as original on original.id = server_id and original.name = 'server-1',
    (select id, name, 0 as n from server) server
  where server.name like 'server-%' and server.name <> 'server-1';

  create temp table copy as
  select server.id as server_id, destination.id as destination_id, server.name || '-' || n as name,
    ${nextId("resource")} as resource_id, ${uuidSql("r")} as resource_uuid,
    ${nextId("deployment")} as deployment_id, ${uuidSql("d")} as deployment_uuid
  from server join destination on destination.server_id = server.id, generate_series(1, ${CONTAINERS_EACH}) n
  where server.name like 'server-%';

  insert into resource overriding system value
  select ${copySql("resource", "'id', copy.resource_id, 'uuid', copy.resource_uuid, 'name', copy.name, 'server_id', copy.server_id, 'destination_id', copy.destination_id, 'status', 'running:healthy'")}
  from resource, copy where resource.name = 'measured';

  insert into application (resource_id, source, fqdn, settings)
  select copy.resource_id, source, fqdn, settings
  from application join resource on resource.id = application.resource_id and resource.name = 'measured', copy;

  insert into deployment overriding system value
  select ${copySql("deployment", "'id', copy.deployment_id, 'uuid', copy.deployment_uuid, 'resource_id', copy.resource_id, 'resource_uuid', copy.resource_uuid, 'resource_name', copy.name, 'server_id', copy.server_id, 'destination_id', copy.destination_id")}
  from deployment join resource on resource.id = deployment.resource_id and resource.name = 'measured', copy;

  insert into release
  select ${copySql("release", "'deployment_id', copy.deployment_id, 'deployment_uuid', copy.deployment_uuid, 'resource_id', copy.resource_id, 'resource_uuid', copy.resource_uuid, 'server_id', copy.server_id")}
  from release join resource on resource.id = release.resource_id and resource.name = 'measured', copy;`;

async function atRest(planes: readonly TestServer[]): Promise<readonly Figure[]> {
  await pause(SETTLE_SECONDS);
  for (const plane of planes) if (plane.hasEnded()) throw new Error(`A control plane has ended:\n${plane.output()}`);
  const before = planes.map((plane) => cpuMs(plane.pid()));
  await pause(IDLE_SECONDS);
  const what = `${SERVERS} servers with ${SERVERS * CONTAINERS_EACH} containers, two control planes`;
  return planes.flatMap((plane, at) => {
    const share = ((cpuMs(plane.pid()) - (before[at] ?? 0)) / (IDLE_SECONDS * 1000)) * 100;
    const name = `${what}, ${at === 0 ? "the first" : "the second"}`;
    return [
      atMost(`${name}, share of a core`, share, SHARE_MAX, " %"),
      atMost(`${name}, RSS`, rssMb(plane.pid()), RSS_MB_MAX, " MB"),
    ];
  });
}

/** Ends containers one after the other, each on another server. */
async function changes(database: Database, sockets: string, uuids: readonly string[]): Promise<readonly Figure[]> {
  const seconds: number[] = [];
  for (const uuid of uuids) {
    const beganAt = performance.now();
    await control(sockets, "/exits", [uuid]);
    await until(async () => (await exited(database, [uuid])) === 1, {
      what: "the exit is seen",
      seconds: WAIT_SECONDS,
    });
    seconds.push((performance.now() - beganAt) / 1000);
  }
  return [
    atMost(
      `A container of one of them ended, seen after (the longest of ${uuids.length})`,
      Math.max(...seconds),
      SEEN_SECONDS_MAX,
      " s",
    ),
  ];
}

/** Containers end while nobody watches half of the servers. */
async function takeover(database: Database, sockets: string, uuids: readonly string[]): Promise<readonly Figure[]> {
  const beganAt = performance.now();
  await control(sockets, "/exits", uuids);
  let followersMax = 0;
  await until(
    async () => {
      const followers = await followersOf(sockets);
      followersMax = Math.max(followersMax, ...followers);
      return followers.every((count) => count === 1);
    },
    { what: "each engine is watched again", seconds: WAIT_SECONDS },
  );
  const watchedSeconds = (performance.now() - beganAt) / 1000;
  const isSeen = async () => (await exited(database, uuids)) === uuids.length;
  await until(isSeen, { what: "every exit is seen", seconds: WAIT_SECONDS });
  const seenSeconds = (performance.now() - beganAt) / 1000;
  return [
    atMost(
      "One of them killed: all servers are watched by the other after",
      watchedSeconds,
      TAKEN_OVER_SECONDS_MAX,
      " s",
    ),
    atMost(`${uuids.length} containers that ended meanwhile are seen after`, seenSeconds, TAKEN_OVER_SECONDS_MAX, " s"),
    atMost("Control planes that watch the same server at once", followersMax, 1),
  ];
}

/** Applications on different servers. */
async function resourcesOf(database: Database): Promise<readonly string[]> {
  const rows = await database.query(
    `select distinct on (server_id) uuid from resource where name <> 'measured' order by server_id limit ${2 * CHANGES}`,
  );
  return rows.map(({ uuid }) => String(uuid));
}

async function exited(database: Database, uuids: readonly string[]): Promise<number> {
  const [row] = await database.query(
    `select count(*) from resource where status like 'exited%' and uuid in ('${uuids.join("','")}')`,
  );
  return Number(row?.count);
}

const isWatchedOnce = async (sockets: string) => (await followersOf(sockets)).every((count) => count === 1);

const followersOf = async (sockets: string) => (await control(sockets, "/followers", [])) as readonly number[];

function control(sockets: string, path: string, body: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: join(sockets, "control.sock"), path, method: "POST", agent: false },
      (answer) => {
        json(answer).then(resolve, reject);
      },
    );
    asked.once("error", reject).end(JSON.stringify(body));
  });
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
