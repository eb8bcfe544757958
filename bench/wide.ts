// What an installation with many applications costs: a start, at rest, a creation, a reconciliation, lists and deletions.
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  made,
  placeOf,
  plainServer,
  temporaryRepository,
} from "../apps/server/e2e/applications.fixture.ts";
import { copiesSql } from "../apps/server/e2e/many-applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { until } from "../packages/testing/src/until.ts";
import { benchDatabase } from "./database.ts";
import { listedByMany } from "./listed-by-many.ts";
import { cpuMs, median } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

const SIZES = [100, 10_000] as const;
const LARGEST = 10_000;
const REST_SECONDS = 15;
const CREATIONS = 20;
const RESTARTS = 3;
/** Resources of the project that is deleted, or all where there are fewer. */
const REMOVED_MAX = 1_000;
/** On a slow machine fewer are deleted. The cost of each is what is measured. */
const REMOVAL_SECONDS = 15;

export async function benchWide(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const firsts = new Map<string, number>();
  /** Values of the smallest size are informative; the largest size may cost at most twice as much. */
  const compared = (name: string, size: number, value: number, unit: string) => {
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, value);
    console.log(`  ${name}: ${value.toFixed(0)}`);
    figures.push(told(`${name}, ${size} applications`, value, unit));
    if (first !== undefined && size === LARGEST)
      figures.push(atMost(`${name}, ${LARGEST} applications against ${SIZES[0]}`, value / first, 2));
  };
  const wides: Wide[] = [];
  try {
    for (const size of SIZES) wides.push(await wideServer(size));
    // Mostly waiting, and each counts what its own server and database do.
    const rests = await Promise.all(wides.map(restAndCreation));
    for (const [index, wide] of wides.entries()) {
      const { server, size } = wide;
      const { restCpuMs = 0, restRows = 0, creationRows = 0 } = rests[index] ?? {};
      console.log(`  ${size} applications: started in ${wide.startMs.toFixed(0)} ms`);
      figures.push(told(`Start, ${size} applications`, wide.startMs, " ms"));
      figures.push(told(`At rest, ${size} applications, CPU in a minute`, restCpuMs, " ms"));
      compared("Rows read at rest in a minute", size, restRows, "");
      compared("Rows read for a creation", size, creationRows, "");
      compared("A killed application answers again after", size, await restartMs(wide), " ms");
      if (size === LARGEST) figures.push(...(await listedByMany(server, LARGEST)));
      const { removed, left, perResourceMs } = await removal(wide, Math.min(REMOVED_MAX, size));
      compared("Deletion of a project, for each resource", size, perResourceMs, " ms");
      figures.push(told(`Resources of that project deleted, of ${removed + left}`, removed));
    }
  } finally {
    for (const wide of wides) await wide.stop();
  }
  return figures;
}

interface Wide {
  readonly size: number;
  readonly server: TestServer;
  readonly database: Awaited<ReturnType<typeof benchDatabase>>;
  readonly startMs: number;
  readonly measured: Deployed;
  /** Number of rows that PostgreSQL has read so far. */
  rows(): Promise<number>;
  stop(): Promise<void>;
}

async function wideServer(size: number): Promise<Wide> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url, BERTH_RATE_LIMIT: "0" } });
  const repository = temporaryRepository(plainServer("1"));
  const measured = await createApplication(server, repository, { name: "measured" });
  const { status, error } = await deploy(server, measured.uuid);
  if (status !== "finished") throw new Error(`The application was not deployed: ${error}`);
  await database.query(copiesSql(size - 1));
  await database.query("vacuum analyze");
  await server.stop();
  const startedAt = performance.now();
  await server.start();
  const startMs = performance.now() - startedAt;
  return {
    size,
    server,
    database,
    startMs,
    measured,
    async rows() {
      // PostgreSQL sessions report their statistics within ten seconds.
      await pause(11);
      const [row] = await database.query(
        "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as rows from pg_stat_user_tables",
      );
      return Number(row?.rows);
    },
    async stop() {
      await server.dispose();
      repository.dispose();
      await database.stop();
    },
  };
}

/** Rows of a creation are those beyond what an idle server reads in the same time. */
async function restAndCreation({ server, rows }: Wide) {
  const fields = {
    ...(await placeOf(server)),
    git_repository: "https://git.example/a/b",
    git_branch: "main",
    build_pack: "nixpacks",
    ports_exposes: "3000",
  };
  const beforeRest = { rows: await rows(), cpuMs: cpuMs(server.pid()), atMs: performance.now() };
  await pause(REST_SECONDS);
  const restCpuMs = ((cpuMs(server.pid()) - beforeRest.cpuMs) / (performance.now() - beforeRest.atMs)) * 60_000;
  const atRest = { rows: await rows(), atMs: performance.now() };
  const restRows = ((atRest.rows - beforeRest.rows) / (atRest.atMs - beforeRest.atMs)) * 60_000;
  for (let n = 0; n < CREATIONS; n += 1) {
    const { status } = await server.rest("POST", "/applications/public", fields);
    if (status !== 201) throw new Error(`A creation answers ${status}.`);
  }
  const read = (await rows()) - atRest.rows - (restRows * (performance.now() - atRest.atMs)) / 60_000;
  return { restCpuMs, restRows, creationRows: Math.max(1, read / CREATIONS) };
}

/** A reconciliation: what runs is compared with what is recorded, and what is missing is started. */
async function restartMs({ server, measured }: Wide): Promise<number> {
  const pidOf = async () =>
    Number(
      await get(server, measured.host, "/pid").then(
        ({ body }) => body,
        () => Number.NaN,
      ),
    );
  const all: number[] = [];
  for (let n = 0; n < RESTARTS; n += 1) {
    const before = await pidOf();
    const beganAt = performance.now();
    process.kill(before, "SIGKILL");
    await until(async () => ((await pidOf()) || before) !== before, { what: "it answers again", seconds: 120 });
    all.push(performance.now() - beganAt);
  }
  return median(all);
}

/** A project is deleted when it has no resources, so they are deleted before. */
async function removal({ server, database }: Wide, wanted: number) {
  const { body } = await server.rest("GET", `/applications?take=${wanted}`);
  const uuids = (body as { uuid: string }[]).map(({ uuid }) => uuid);
  const project = await made(server, "/projects", { name: "deleted" });
  const [environment] = (await server.rest("GET", `/projects/${project}/environments`)).body as { id: number }[];
  await database.query(
    `update resource set environment_id = ${Number(environment?.id)} where uuid in ('${uuids.join("','")}')`,
  );
  const beganAt = performance.now();
  const isLate = () => performance.now() - beganAt > REMOVAL_SECONDS * 1000;
  let removed = 0;
  while (removed < uuids.length && !isLate()) {
    const { status } = await server.rest("DELETE", `/applications/${uuids[removed]}`);
    if (status !== 200) throw new Error(`A deletion answers ${status}.`);
    removed += 1;
  }
  const leaving = async () =>
    Number((await database.query("select count(*) from resource where removing_at is not null"))[0]?.count);
  await until(async () => (await leaving()) === 0, { what: "all of them are gone", seconds: 120 });
  const perResourceMs = (performance.now() - beganAt) / removed;
  const { status } = await server.rest("DELETE", `/projects/${project}`);
  const isWhole = removed === uuids.length;
  if ((status === 200) !== isWhole) throw new Error(`The deletion of the project answers ${status}.`);
  return { removed, left: uuids.length - removed, perResourceMs };
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
