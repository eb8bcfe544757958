import { createServer, type Server } from "node:net";
import { availableParallelism } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Number of suites with containers that run at once. They mostly wait: with one more than cores, and twice as many
 * workers (`tooling/vitest/project.ts`), both cores of a small machine are busy to the end of a run.
 */
const SLOTS = 1 + availableParallelism();
const POLL_MS = 100;

interface Held {
  users: number;
  readonly slot: Promise<Server>;
}

const HELD = Symbol.for("berth.test.docker.slot");
/** Milliseconds that the current file has waited, for the report of a run (`tooling/vitest/cpu-setup.ts`). */
const WAIT = Symbol.for("berth.test.docker.slot-wait");
// Global, since a worker loads modules more than once, and nested suites share a slot.
const shared = globalThis as { [HELD]?: Held | undefined; [WAIT]?: number };

/**
 * Waits for a free slot among those for workers with containers.
 * @returns A function that frees the slot. A slot is an abstract socket, so it also becomes free when this process
 * dies.
 */
export async function dockerSlot(): Promise<() => void> {
  shared[HELD] ??= { users: 0, slot: freeSlot() };
  const held = shared[HELD];
  held.users += 1;
  const server = await held.slot;
  return () => {
    held.users -= 1;
    if (held.users > 0) return;
    shared[HELD] = undefined;
    server.close();
  };
}

async function freeSlot(): Promise<Server> {
  const startedMs = performance.now();
  for (;;) {
    for (let slot = 0; slot < SLOTS; slot += 1) {
      // Workers of one run have the same parent process.
      const server = await listen(`\0berth-test-docker-${process.ppid}-${slot}`);
      if (server === undefined) continue;
      shared[WAIT] = (shared[WAIT] ?? 0) + performance.now() - startedMs;
      return server;
    }
    await delay(POLL_MS);
  }
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.once("error", () => resolve(undefined));
    server.listen({ path }, () => resolve(server));
  });
}
