// Reads applications through REST and tRPC, compared alternately with a minimal handler that makes the same queries.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createApplication, plainServer, temporaryRepository } from "../apps/server/e2e/applications.fixture.ts";
import { testServer } from "../apps/server/e2e/server.fixture.ts";
import { benchDatabase } from "./database.ts";
import { applicationCopiesSql } from "./lists.ts";
import { type Load, load, median } from "./measure.ts";
import { atLeast, atMost, type Figure } from "./report.ts";

const ROUNDS = 3;
const SECONDS = 2;

export async function benchRead(): Promise<readonly Figure[]> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
  const repository = temporaryRepository(plainServer("1"));
  const { uuid } = await createApplication(server, repository, { name: "measured" });
  await database.query(applicationCopiesSql(PAGE - 1));
  await database.query("vacuum analyze");
  // A common token: one with `read:sensitive` would need a third query.
  const { body } = await server.rest("POST", "/tokens", { name: "Bench", abilities: ["read"] });
  const { token } = body as { token: string };
  const { body: page } = await server.rest("GET", "/applications");
  const ten = (page as readonly { readonly uuid: string }[]).slice(0, BATCH).map((one) => one.uuid);
  const bare = spawn(process.execPath, [fileURLToPath(new URL("./baseline.ts", import.meta.url))], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [port] = await once(bare.stdout, "data");
  const compare = async (what: string, path: string, barePath: string) =>
    await compared(
      what,
      { url: `${server.url}${path}`, pid: server.pid(), token },
      { url: `http://127.0.0.1:${String(port).trim()}/${barePath}`, pid: bare.pid ?? 0, token },
    );
  try {
    return [
      ...(await compare("Read of one application", `/api/v1/applications/${uuid}`, uuid)),
      ...(await compare(`Page of ${PAGE} applications`, `/api/v1/applications?take=${PAGE}`, "page")),
      ...(await compare(`tRPC batch of ${BATCH} applications`, batchPath(ten), ten.join(","))),
    ];
  } finally {
    bare.kill();
    await server.dispose();
    repository.dispose();
    await database.stop();
  }
}

const PAGE = 50;
const BATCH = 10;

function batchPath(uuids: readonly string[]): string {
  const inputs = Object.fromEntries(uuids.map((uuid, index) => [index, { uuid }]));
  const names = uuids.map(() => "applications.get").join(",");
  return `/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
}

interface Target {
  readonly url: string;
  readonly pid: number;
  readonly token: string;
}

/** Throughput and CPU of a read as ratios to those of the bare handler, in turns. */
async function compared(what: string, ours: Target, theirs: Target): Promise<readonly Figure[]> {
  for (const target of [ours, theirs]) await load({ ...target, seconds: 1 });
  const rounds: { readonly ours: Load; readonly theirs: Load }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({
      ours: await load({ ...ours, seconds: SECONDS }),
      theirs: await load({ ...theirs, seconds: SECONDS }),
    });
  }
  const failed = rounds.reduce((sum, round) => sum + round.ours.failed + round.theirs.failed, 0);
  if (failed > 0) throw new Error(`${failed} requests failed: nothing was measured.`);
  for (const { ours: our, theirs: bareOne } of rounds) {
    console.log(
      `  ${our.requestsPerSecond.toFixed(0)} req/s, ${(our.cpuMsPerRequest * 1000).toFixed(0)} µs CPU; bare ${bareOne.requestsPerSecond.toFixed(0)} req/s, ${(bareOne.cpuMsPerRequest * 1000).toFixed(0)} µs CPU`,
    );
  }
  const ratio = (value: (load: Load) => number) =>
    median(rounds.map((round) => value(round.ours) / value(round.theirs)));
  return [
    atLeast(
      `${what}, throughput against node:http and pg`,
      ratio((round) => round.requestsPerSecond),
      0.65,
    ),
    atMost(
      `${what}, CPU against node:http and pg`,
      ratio((round) => round.cpuMsPerRequest),
      2,
    ),
  ];
}
