import { setTimeout as delay } from "node:timers/promises";
import type { Ground } from "./checks.ts";
import { deployments, lostWrites, writers } from "./load.ts";
import { descriptorsOf, familyOf, rssMbOf } from "./processes.ts";

/** Measures the drift of memory, descriptors and processes under continuous load. */
export async function soak({ server, uuid }: Ground, minutes: number): Promise<string> {
  const [writing, deploying] = [writers(server, 2), deployments(server, uuid)];
  const endsAt = performance.now() + minutes * 60_000;
  const samples: { readonly rss: number; readonly descriptors: number; readonly processes: number }[] = [];
  while (performance.now() < endsAt) {
    await delay(10_000);
    await server.rest("GET", "/applications").catch(() => undefined);
    const pid = server.pid();
    samples.push({ rss: rssMbOf(pid), descriptors: descriptorsOf(pid), processes: familyOf(pid).length });
  }
  const [{ acknowledged }, queued] = [await writing.end(), await deploying.end()];
  const lost = await lostWrites(server, acknowledged);
  const drift = (key: "rss" | "descriptors" | "processes") => {
    const values = samples.map((sample) => sample[key]);
    return `${Math.round(values[0] ?? 0)} to ${Math.round(values.at(-1) ?? 0)}, at most ${Math.round(Math.max(...values))}`;
  };
  return (
    `${acknowledged.length} writes, ${lost.length} lost, ${queued.length} deployments; RSS ${drift("rss")} MB, ` +
    `descriptors ${drift("descriptors")}, processes ${drift("processes")}`
  );
}
