// Time until the first start of a PostgreSQL is healthy, compared with the same container by hand: created, started,
// and polled by its own client. Both begin with an empty volume and wait for the same initialisation.
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { databaseCalls } from "../apps/server/e2e/database.fixture.ts";
import { dockerServer } from "../apps/server/e2e/docker.fixture.ts";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { removeLabelled, testInstance } from "../packages/testing/src/docker-leftovers.ts";
import { median } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const ROUNDS = 3;
const ASK_MS = 100;
const IMAGE = "postgres:16-alpine";
const PASSWORD = "bench-password";
const QUESTION = ["pg_isready", "--host=127.0.0.1", "--username=postgres", "--dbname=postgres"];

export async function benchDatabaseStart(): Promise<readonly Figure[]> {
  const run = `berth-bench-${randomBytes(4).toString("hex")}`;
  const docker = dockerClient(localHost("here"));
  const instance = testInstance(run);
  const labels = { "berth.instance": instance };
  const network = await docker.createNetwork({ Name: run, Labels: labels });
  const berth = await dockerServer({ instance, name: (hint) => `${run}-${hint}` });
  const calls = databaseCalls(() => berth);
  try {
    const times = { hand: [] as number[], berth: [] as number[] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      const hand = await byHand();
      // The default interval, as users have it.
      const fields = { instant_deploy: false, health_check_interval: 15, health_check_retries: 5 };
      const uuid = await calls.create("postgresql", IMAGE, { postgres_password: PASSWORD, ...fields });
      const startedAt = performance.now();
      const { status } = await calls.run(uuid, "start");
      const ours = performance.now() - startedAt;
      if (status !== "finished") throw new Error(`The deployment ${status}.`);
      const shown = await calls.show(uuid);
      if (shown.status !== "running:healthy") throw new Error(`It is ${shown.status}.`);
      await calls.done("DELETE", `/databases/${uuid}`);
      console.log(`  by hand ${hand.toFixed(0)} ms, Berth ${ours.toFixed(0)} ms`);
      if (round === 0) continue;
      times.hand.push(hand);
      times.berth.push(ours);
    }
    const ratio = median(times.berth) / median(times.hand);
    return [atMost("First start of a PostgreSQL until it is healthy, against the same container by hand", ratio, 1.5)];
  } finally {
    await berth.dispose();
    for (const failure of await removeLabelled(docker, `berth.instance=${instance}`)) console.log(`  ${failure}`);
    await network.remove().catch(() => undefined);
  }

  async function byHand(): Promise<number> {
    const startedAt = performance.now();
    const container = await docker.createContainer({
      Image: IMAGE,
      Labels: labels,
      Env: [`POSTGRES_PASSWORD=${PASSWORD}`],
      HostConfig: { Init: true, NetworkMode: run },
    });
    await container.start();
    while (!(await answers(container))) await delay(ASK_MS);
    const took = performance.now() - startedAt;
    await container.remove({ force: true, v: true });
    return took;
  }

  async function answers(container: ReturnType<typeof docker.getContainer>): Promise<boolean> {
    const exec = await container.exec({ Cmd: QUESTION, AttachStdout: true });
    const stream = await exec.start({});
    await new Promise<void>((resolve) => stream.on("close", resolve).resume());
    return (await exec.inspect()).ExitCode === 0;
  }
}
