// What an installation with many applications costs: at rest, for a creation, for clients that list all of them.
import {
  createApplication,
  placeOf,
  plainServer,
  temporaryRepository,
} from "../apps/server/e2e/applications.fixture.ts";
import {
  askForAll,
  copiesSql,
  forgetPeak,
  otherTeam,
  peakMb,
  sizeOf,
} from "../apps/server/e2e/many-applications.fixture.ts";
import { type TestServer, testServer } from "../apps/server/e2e/server.fixture.ts";
import { until } from "../packages/testing/src/until.ts";
import { benchDatabase } from "./database.ts";
import { cpuMs, median } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

const SIZES = [100, 1_000, 10_000] as const;
const LARGEST = 10_000;
const CLIENTS = 100;
const IDLE_CLIENTS = 20;
const REST_SECONDS = 20;
const CREATIONS = 20;
const REMOVED = 1_000;

export async function benchWide(): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  const firsts = new Map<string, number>();
  /** Values of the smallest size are informative; the other sizes may cost at most twice as much. */
  const compared = (name: string, size: number, value: number, unit: string) => {
    const first = firsts.get(name);
    if (first === undefined) firsts.set(name, value);
    console.log(`  ${name}: ${value.toFixed(0)}`);
    figures.push(told(`${name}, ${size} applications`, value, unit));
    if (first !== undefined && size === LARGEST)
      figures.push(atMost(`${name}, ${LARGEST} applications against ${SIZES[0]}`, value / first, 2));
  };
  for (const size of SIZES) {
    const wide = await wideServer(size);
    try {
      const { server } = wide;
      console.log(`  ${size} applications: started in ${wide.startMs.toFixed(0)} ms`);
      figures.push(told(`Start, ${size} applications`, wide.startMs, " ms"));
      compared("Rows read for a creation", size, await rowsOfCreation(wide), "");
      figures.push(told(`At rest, ${size} applications, CPU in a minute`, await restCpuMs(server.pid()), " ms"));
      compared("Rows read at rest in a minute", size, await wide.rowsRead(() => pause(REST_SECONDS)), "");
      if (size === LARGEST) figures.push(...(await listedByMany(wide)));
      if (size === SIZES[1])
        figures.push(told(`Deletion of ${REMOVED} applications`, await removalSeconds(wide), " s"));
    } finally {
      await wide.stop();
    }
  }
  return figures;
}

interface Wide {
  readonly server: TestServer;
  readonly database: Awaited<ReturnType<typeof benchDatabase>>;
  readonly startMs: number;
  /** Number of rows that PostgreSQL reads during the work. */
  rowsRead(work: () => Promise<unknown>): Promise<number>;
  stop(): Promise<void>;
}

async function wideServer(size: number): Promise<Wide> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url, BERTH_RATE_LIMIT: "0" } });
  const repository = temporaryRepository(plainServer("1"));
  await createApplication(server, repository, { name: "measured" });
  await database.query(copiesSql(size - 1));
  await database.query("vacuum analyze");
  await server.stop();
  const startedAt = performance.now();
  await server.start();
  const startMs = performance.now() - startedAt;
  const rows = async () => {
    // PostgreSQL sessions report their statistics within ten seconds.
    await pause(11);
    const [row] = await database.query(
      "select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 as rows from pg_stat_user_tables",
    );
    return Number(row?.rows);
  };
  return {
    server,
    database,
    startMs,
    async rowsRead(work) {
      const before = await rows();
      const beganAt = performance.now();
      await work();
      const after = await rows();
      return ((after - before) / (performance.now() - beganAt)) * 60_000;
    },
    async stop() {
      await server.dispose();
      repository.dispose();
      await database.stop();
    },
  };
}

/** In addition to the rows that an idle server reads. */
async function rowsOfCreation(wide: Wide): Promise<number> {
  const place = await placeOf(wide.server);
  const fields = { ...place, git_repository: "https://git.example/a/b", git_branch: "main", build_pack: "nixpacks" };
  const atRest = await wide.rowsRead(() => pause(5));
  const beganAt = performance.now();
  const perMinute = await wide.rowsRead(async () => {
    for (let n = 0; n < CREATIONS; n += 1) {
      const { status } = await wide.server.rest("POST", "/applications/public", { ...fields, ports_exposes: "3000" });
      if (status !== 201) throw new Error(`A creation answers ${status}.`);
    }
  });
  const minutes = (performance.now() - beganAt) / 60_000;
  return Math.max(1, ((perMinute - atRest) * minutes) / CREATIONS);
}

async function restCpuMs(pid: number): Promise<number> {
  const before = cpuMs(pid);
  await pause(REST_SECONDS);
  return ((cpuMs(pid) - before) / REST_SECONDS) * 60;
}

/** All clients list everything at the same time; some never read the answer. */
async function listedByMany({ server }: Wide): Promise<readonly Figure[]> {
  const idle = await healthMs(server, 200);
  const other = await otherTeam(server);
  const idlers = await Promise.all(Array.from({ length: IDLE_CLIENTS }, () => askForAll(server)));
  let isOver = false;
  let refusedOthers = 0;
  const health: number[] = [];
  forgetPeak(server.pid());
  const watch = (async () => {
    while (!isOver) {
      health.push(await oneHealthMs(server));
      const { status } = await fetch(`${server.url}/api/v1/projects`, {
        headers: { authorization: `Bearer ${other}` },
      });
      if (status !== 200) refusedOthers += 1;
      await pause(0.05);
    }
  })();
  const answers = await Promise.all(
    Array.from({ length: CLIENTS - IDLE_CLIENTS }, async () => {
      const response = await askForAll(server);
      return { status: response.statusCode, bytes: await sizeOf(response) };
    }),
  );
  isOver = true;
  await watch;
  for (const one of idlers) one.destroy();
  const refused = answers.filter(({ status }) => status === 503).length;
  const bytes = median(answers.filter(({ status }) => status === 200).map((one) => one.bytes));
  return [
    atMost(`${CLIENTS} clients list ${LARGEST} applications, RSS at most`, peakMb(server.pid()), 300, " MB"),
    atMost("Health beside them, median time against idle", median(health) / idle, 20),
    atMost("Requests of another team refused beside them", refusedOthers, 0),
    told("Lists of their own team refused with 503", refused),
    told("Size of a list", bytes / 1024 ** 2, " MB"),
  ];
}

async function oneHealthMs({ url }: TestServer): Promise<number> {
  const beganAt = performance.now();
  await (await fetch(`${url}/api/health`)).text();
  return performance.now() - beganAt;
}

async function healthMs(server: TestServer, count: number): Promise<number> {
  const all: number[] = [];
  for (let n = 0; n < count; n += 1) all.push(await oneHealthMs(server));
  return median(all);
}

async function removalSeconds({ server, database }: Wide): Promise<number> {
  const { body } = await server.rest("GET", "/applications");
  const uuids = (body as { uuid: string }[]).map(({ uuid }) => uuid).slice(0, REMOVED);
  const beganAt = performance.now();
  for (const uuid of uuids) await server.rest("DELETE", `/applications/${uuid}`);
  await until(
    async () =>
      Number((await database.query("select count(*) from resource where removing_at is not null"))[0]?.count) === 0,
    { what: "all of them are gone", seconds: 300 },
  );
  return (performance.now() - beganAt) / 1000;
}

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
