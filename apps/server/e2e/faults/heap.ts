import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { until } from "@berth/testing";
import type { TestServer } from "../server.fixture.ts";
import { signal } from "./processes.ts";

/** For the environment of a server whose heap is to be measured. */
export const MEASURED_HEAP = {
  NODE_OPTIONS: `--import=${new URL("./heap-preload.mjs", import.meta.url)}`,
} as const;

/** Used heap of a server after a collection of garbage, in MB. */
export async function heapMbOf(server: Pick<TestServer, "dataFolder" | "pid">): Promise<number> {
  const file = join(server.dataFolder, "heap-used");
  rmSync(file, { force: true });
  signal(server.pid(), "SIGUSR2");
  const bytes = await until(() => numberIn(file), { what: "the server writes the size of its heap" });
  return bytes / 1024 ** 2;
}

function numberIn(file: string): number | undefined {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}
