// Time until the first 200, and memory: empty and existing database, idle and after load.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createApplication, plainServer, temporaryRepository } from "../apps/server/e2e/applications.fixture.ts";
import { freePorts, testServer } from "../apps/server/e2e/server.fixture.ts";
import { load, median, processesOf, pssMb, rssMb } from "./measure.ts";
import { atMost, type Figure } from "./report.ts";

const RUN = fileURLToPath(new URL("../tooling/run.mjs", import.meta.url));
const STARTS = 3;
const IDLE_SECONDS = 15;

export async function benchStart(): Promise<readonly Figure[]> {
  const dataFolder = mkdtempSync(join(tmpdir(), "berth-bench-"));
  const empty = await startMs(dataFolder);
  const existing: number[] = [];
  for (let index = 0; index < STARTS; index += 1) existing.push(await startMs(dataFolder));
  rmSync(dataFolder, { recursive: true, force: true });
  return [
    atMost("First 200 on an empty embedded database", empty / 1000, 5, " s"),
    atMost("First 200 on an existing one", median(existing) / 1000, 1.5, " s"),
    ...(await memory()),
  ];
}

async function memory(): Promise<readonly Figure[]> {
  const server = await testServer();
  const repository = temporaryRepository(plainServer("1"));
  try {
    const { uuid } = await createApplication(server, repository, { name: "measured" });
    await new Promise((resolve) => setTimeout(resolve, IDLE_SECONDS * 1000));
    const pid = server.pid();
    const idle = rssMb(pid);
    const all = pssMb(processesOf(server.dataFolder, pid));
    await load({
      url: `${server.url}/api/v1/applications/${uuid}`,
      pid,
      token: server.token,
      seconds: 10,
      connections: 32,
    });
    return [
      atMost("Server process idle, RSS", idle, 110, " MB"),
      atMost("Server process after load, RSS", rssMb(pid), 180, " MB"),
      atMost("Server, proxy and database together idle, PSS", all, 150, " MB"),
    ];
  } finally {
    await server.dispose();
    repository.dispose();
  }
}

/** Milliseconds from the command that a user types to the first answer. */
async function startMs(dataFolder: string): Promise<number> {
  const [api, proxy] = await freePorts(2);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [RUN, "start"], {
    env: {
      ...process.env,
      BERTH_DATA: dataFolder,
      BERTH_HOST: "127.0.0.1",
      BERTH_PORT: String(api),
      BERTH_PROXY_HOST: "127.0.0.1",
      BERTH_PROXY_PORT: String(proxy),
      BERTH_EXAMPLE: "off",
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  while (!(await answers(`http://127.0.0.1:${api}/api/health`))) await new Promise((resolve) => setTimeout(resolve, 5));
  const took = performance.now() - startedAt;
  child.kill("SIGTERM");
  await new Promise((resolve) => child.once("exit", resolve));
  console.log(`  first 200 after ${took.toFixed(0)} ms`);
  return took;
}

const answers = (url: string) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
