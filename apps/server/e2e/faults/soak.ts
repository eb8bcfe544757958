import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Ground } from "./checks.ts";
import { expect } from "./checks.ts";
import { heapMbOf } from "./heap.ts";
import { deployments, lostWrites, visitors, writers } from "./load.ts";
import { descriptorsOf, processesOf, rssMbOf } from "./processes.ts";

const SAMPLE_SECONDS = 10;
/** A collection of garbage changes what it measures, so it is rare. */
const SAMPLES_PER_HEAP = 6;

interface Sample {
  readonly heapMb?: number;
  readonly rssMb: number;
  readonly descriptors: number;
  readonly processes: number;
  readonly files: number;
}

/** Measures the drift of heap, memory, descriptors, processes and files under continuous load. */
export async function soak({ server, uuid, host }: Ground, minutes: number): Promise<string> {
  const pid = server.pid();
  const [writing, deploying, visiting] = [writers(server, 2), deployments(server, uuid), visitors(server, host)];
  const endsAt = performance.now() + minutes * 60_000;
  const samples: Sample[] = [];
  for (;;) {
    await delay(SAMPLE_SECONDS * 1000);
    await server.rest("GET", "/applications").catch(() => undefined);
    expect(server.pid() === pid && !server.hasEnded(), "the server's process ended");
    const isLast = performance.now() >= endsAt;
    const withHeap = isLast || samples.length % SAMPLES_PER_HEAP === 0;
    const sample: Sample = {
      rssMb: rssMbOf(pid),
      descriptors: descriptorsOf(pid),
      processes: processesOf(server).length,
      files: filesIn(server.dataFolder),
      ...(withHeap ? { heapMb: await heapMbOf(server) } : {}),
    };
    if (withHeap) console.log(`  ${JSON.stringify(sample, (_, value) => (value % 1 ? Math.round(value) : value))}`);
    samples.push(sample);
    if (isLast) break;
  }
  const [{ acknowledged, refused }, queued, { answered, failed }] = await Promise.all([
    writing.end(),
    deploying.end(),
    visiting.end(),
  ]);
  const lost = await lostWrites(server, acknowledged);
  expect(lost.length === 0, `${lost.length} acknowledged writes were lost`);
  const drift = (key: keyof Sample) => {
    const values = samples.flatMap((sample) => sample[key] ?? []);
    return `${Math.round(values[0] ?? 0)} to ${Math.round(values.at(-1) ?? 0)}, at most ${Math.round(Math.max(...values))}`;
  };
  return (
    `${acknowledged.length} writes acknowledged, none lost, ${refused} refused; ${queued.length} deployments; ` +
    `${failed} of ${answered + failed} requests to the site failed; heap after a collection ${drift("heapMb")} MB; ` +
    `RSS ${drift("rssMb")} MB; descriptors ${drift("descriptors")}; processes ${drift("processes")}; files ${drift("files")}`
  );
}

/** A release may be removed while its folder is read. */
function filesIn(folder: string): number {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.reduce((sum, one) => sum + 1 + (one.isDirectory() ? filesIn(join(folder, one.name)) : 0), 0);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return 0;
    throw error;
  }
}
