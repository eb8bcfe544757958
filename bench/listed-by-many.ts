// Many clients list everything at the same time; some never read the answer.
import { setTimeout as delay } from "node:timers/promises";
import { askForAll, forgetPeak, otherTeam, peakMb } from "../apps/server/e2e/many-applications.fixture.ts";
import type { TestServer } from "../apps/server/e2e/server.fixture.ts";
import { median } from "./measure.ts";
import { atMost, type Figure, told } from "./report.ts";

const CLIENTS = 100;
const IDLE_CLIENTS = 20;
/** On a slow machine not all of the lists are read to their end. */
const SECONDS = 15;

export async function listedByMany(server: TestServer, applications: number): Promise<readonly Figure[]> {
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
      await delay(50);
    }
  })();
  const late = AbortSignal.timeout(SECONDS * 1000);
  const answers = await Promise.all(Array.from({ length: CLIENTS - IDLE_CLIENTS }, () => readAll(server, late)));
  isOver = true;
  await watch;
  for (const one of idlers) one.destroy();
  const whole = answers.filter(({ isWhole }) => isWhole);
  return [
    atMost(`${CLIENTS} clients list ${applications} applications, RSS at most`, peakMb(server.pid()), 300, " MB"),
    atMost("Health beside them, median time against idle", median(health) / idle, 20),
    atMost("Requests of another team refused beside them", refusedOthers, 0),
    told("Lists of their own team refused with 503", answers.filter(({ status }) => status === 503).length),
    told(`Lists read to their end in ${SECONDS} s, of ${answers.length}`, whole.length),
    told("Bytes of all lists", answers.reduce((sum, { bytes }) => sum + bytes, 0) / 1024 ** 2, " MB"),
  ];
}

async function readAll(server: TestServer, late: AbortSignal) {
  const response = await askForAll(server);
  const status = response.statusCode ?? 0;
  let bytes = 0;
  if (late.aborted) response.destroy();
  late.addEventListener("abort", () => response.destroy(), { once: true });
  try {
    for await (const chunk of response) bytes += (chunk as Buffer).length;
    return { status, bytes, isWhole: status === 200 };
  } catch (error) {
    if (!late.aborted) throw error;
    return { status, bytes, isWhole: false };
  }
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
