import { isDomainError } from "@berth/core";
import { ApplicationSettings } from "@berth/core/application";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

/** Worlds by the number of their team's applications. */
const worlds = new Map<number, World>();
beforeAll(async () => {
  for (const count of [99, 9_999]) {
    // With a single connection, its counters include exactly the earlier statements.
    const made = await world({ connectionsMax: 1 });
    worlds.set(count, made);
    await fill(made, count);
  }
});
afterAll(async () => {
  for (const made of worlds.values()) await made.db.close();
});

function worldOf(count: number): World {
  const found = worlds.get(count);
  if (found === undefined) throw new Error(`No world has ${count} applications.`);
  return found;
}

test("creating the ten-thousandth application reads and writes what creating the hundredth does", async () => {
  const hundredth = await rowsOf(worldOf(99), "http://made.example.com");
  const tenThousandth = await rowsOf(worldOf(9_999), "http://made.example.com");
  expect(tenThousandth).toMatchObject({ outcome: "created", written: hundredth.written });
  expect(tenThousandth.read).toBeLessThan(ROWS_MAX);
});

test("a URL that another of ten thousand holds is found by its index", async () => {
  const taken = await rowsOf(worldOf(9_999), "http://copy-777.example.com");
  expect(taken).toMatchObject({ outcome: "domain.conflict", written: 0 });
  expect(taken.read).toBeLessThan(ROWS_MAX);
});

/** PostgreSQL reads all rows of a table with one page, however few match. */
const ROWS_MAX = 60;

/** Copies with a URL each, as if they had been created. */
async function fill({ db, place }: World, count: number): Promise<void> {
  const { environment, server, destination } = place;
  const settings = JSON.stringify(ApplicationSettings.parse({ build_pack: "nixpacks" }));
  const { kysely } = db.database;
  await sql`
    insert into resource (uuid, kind, team_id, environment_id, server_id, destination_id, name)
    select md5(random()::text || n), 'application', ${server.team_id}, ${environment.id}, ${server.id},
      ${destination.id}, 'copy-' || n
    from generate_series(1, ${count}::int) as n`.execute(kysely);
  await sql`analyze`.execute(kysely);
  await sql`insert into application (resource_id, source, settings)
    select id, 'git', ${settings}::jsonb from resource`.execute(kysely);
  await sql`insert into domain (resource_id, host, path, url, position)
    select id, name || '.example.com', '/', 'http://' || name || '.example.com', 0 from resource`.execute(kysely);
  await sql`vacuum analyze`.execute(kysely);
}

/** Rows of Berth's tables that PostgreSQL reads and writes for a creation. */
async function rowsOf(made: World, domains: string) {
  const before = await counters(made);
  const outcome = await made.own.applications
    .createPublic(gitApplication(made, { domains }))
    .then(() => "created")
    .catch((error: unknown) => (isDomainError(error) ? error.code : String(error)));
  const after = await counters(made);
  return { outcome, read: after.read - before.read, written: after.written - before.written };
}

async function counters({ db }: World) {
  const { kysely } = db.database;
  await sql`select pg_stat_force_next_flush()`.execute(kysely);
  const { rows } = await sql<{ read: number; written: number }>`
    select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as read,
      sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as written
    from pg_stat_user_tables`.execute(kysely);
  const [row] = rows;
  if (row === undefined) throw new Error("PostgreSQL counts nothing.");
  return row;
}
