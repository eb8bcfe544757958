// Reads one application through REST, compared alternately with a minimal handler that makes the same two queries.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createApplication, plainServer, temporaryRepository } from "../apps/server/e2e/applications.fixture.ts";
import { testServer } from "../apps/server/e2e/server.fixture.ts";
import { benchDatabase } from "./database.ts";
import { type Load, load, median } from "./measure.ts";
import { atLeast, atMost, type Figure } from "./report.ts";

const ROUNDS = 5;
const SECONDS = 4;

export async function benchRead(): Promise<readonly Figure[]> {
  const database = await benchDatabase();
  const server = await testServer({ env: { BERTH_DATABASE_URL: database.url } });
  const repository = temporaryRepository(plainServer("1"));
  const { uuid } = await createApplication(server, repository, { name: "measured" });
  // A common token: one with `read:sensitive` would need a third query.
  const { body } = await server.rest("POST", "/tokens", { name: "Bench", abilities: ["read"] });
  const { token } = body as { token: string };
  const bare = spawn(process.execPath, [fileURLToPath(new URL("./baseline.ts", import.meta.url))], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port] = await once(bare.stdout, "data");
    const ours = { url: `${server.url}/api/v1/applications/${uuid}`, pid: server.pid(), token };
    const theirs = { url: `http://127.0.0.1:${String(port).trim()}/${uuid}`, pid: bare.pid ?? 0, token };
    for (const target of [ours, theirs]) await load({ ...target, seconds: 2 });
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
    return [
      atLeast(
        "Read of one application, throughput against node:http and pg",
        median(rounds.map((round) => round.ours.requestsPerSecond / round.theirs.requestsPerSecond)),
        0.5,
      ),
      atMost("Read of one application, CPU", median(rounds.map((round) => round.ours.cpuMsPerRequest)), 0.5, " ms"),
    ];
  } finally {
    bare.kill();
    await server.dispose();
    repository.dispose();
    await database.stop();
  }
}
