// Clients of a proxy in a thread of their own: a bench that computes in the same program would keep them from seeing
// that a connection was closed, and they would send on it.
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { startClients } from "../packages/proxy/src/caddy/load-clients.fixture.ts";

type Load = Parameters<typeof startClients>[0];
type Message = { readonly requests: number } | { readonly failures: readonly string[]; readonly requests: number };

const REPORT_EVERY_MS = 50;

/** As `startClients`. The count of requests is up to 50 ms old. */
export function clientsInThread(load: Load) {
  const worker = new Worker(new URL(import.meta.url), { workerData: load });
  let requests = 0;
  const ended = new Promise<readonly string[]>((resolve, reject) => {
    worker.on("error", reject);
    worker.on("message", (message: Message) => {
      requests = message.requests;
      if ("failures" in message) resolve(message.failures);
    });
  });
  ended.catch(() => {}); // Thrown by `end`.
  return {
    begin: () => worker.postMessage("begin"),
    requests: () => requests,
    /** @returns What failed, a sentence each. */
    async end(): Promise<readonly string[]> {
      worker.postMessage("end");
      try {
        return await ended;
      } finally {
        await worker.terminate();
      }
    },
  };
}

function serve(load: Load): void {
  const clients = startClients(load);
  const tell = (message: Message) => parentPort?.postMessage(message);
  setInterval(() => tell({ requests: clients.requests() }), REPORT_EVERY_MS);
  parentPort?.on("message", async (command: "begin" | "end") => {
    if (command === "begin") clients.begin();
    else tell({ failures: (await clients.end()).failures, requests: clients.requests() });
  });
}

if (!isMainThread) serve(workerData);
