import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { SERVER_FLAGS } from "../../../tooling/server-flags.mjs";
import type { Served } from "./berth.fixture.ts";
import type { Objects } from "./objects.fixture.ts";

/** What the process says of itself once it listens. */
export interface LargeObjects extends Pick<Served, "token" | "where"> {
  readonly url: string;
  readonly objects: Objects;
}

const MAIN = fileURLToPath(new URL("large-objects.process.fixture.ts", import.meta.url));

/** The API in a process that has the heap of `npm start`, and what it stores. */
export async function largeObjects() {
  let output = "";
  const child = fork(MAIN, [], { execArgv: [...SERVER_FLAGS], stdio: ["ignore", "pipe", "pipe", "ipc"] });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += chunk));
  const ended = once(child, "exit");
  const [said] = await Promise.race([
    once(child, "message"),
    ended.then(() => Promise.reject(new Error(`The process ended before it listened: ${output}`))),
  ]);
  return {
    ...(said as LargeObjects), // What the program sends.
    isRunning: () => child.exitCode === null && child.signalCode === null,
    output: () => output,
    async close() {
      if (child.connected) child.disconnect();
      await ended;
    },
  };
}
