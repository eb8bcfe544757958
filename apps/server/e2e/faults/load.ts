import { request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { requestDeployment } from "../applications.fixture.ts";
import type { TestServer } from "../server.fixture.ts";
import { atRowEnd } from "./row-end.ts";

/** Clients that continue despite failures, until they are stopped. */
export interface Load<Result> {
  end(): Promise<Result>;
}

/** Repeats it for each client until the end of the row. @returns Ends it before. */
export function repeated(count: number, once: (client: number) => Promise<void>): () => Promise<void> {
  let isOver = false;
  const clients = Array.from({ length: count }, async (_, client) => {
    while (!isOver) await once(client);
  });
  const end = async () => {
    isOver = true;
    await Promise.all(clients);
  };
  atRowEnd(end);
  return end;
}

/** Clients that write, and report which writes were acknowledged. */
export function writers(server: TestServer, count: number): Load<{ acknowledged: readonly string[]; refused: number }> {
  const acknowledged: string[] = [];
  let refused = 0;
  let next = 0;
  const end = repeated(count, async () => {
    next += 1;
    const name = `written-${process.pid}-${Date.now()}-${next}`;
    const answer = await server.rest("POST", "/projects", { name }).catch(() => undefined);
    if (answer?.status === 201) acknowledged.push(name);
    else refused += 1;
    await delay(answer?.status === 201 ? 5 : 50);
  });
  return {
    async end() {
      await end();
      return { acknowledged, refused };
    },
  };
}

export async function lostWrites(server: TestServer, acknowledged: readonly string[]): Promise<readonly string[]> {
  const { body } = await server.rest("GET", "/projects");
  const names = new Set((body as { name: string }[]).map(({ name }) => name));
  return acknowledged.filter((name) => !names.has(name));
}

/** Deploys repeatedly, and reports the acknowledged deployments. */
export function deployments(server: TestServer, uuid: string): Load<readonly string[]> {
  const queued: string[] = [];
  const end = repeated(1, async () => {
    const deployment = await requestDeployment(server, uuid).catch(() => undefined);
    if (deployment !== undefined && !queued.includes(deployment)) queued.push(deployment);
    await delay(500);
  });
  return {
    async end() {
      await end();
      return queued;
    },
  };
}

/** Requests to a site, each over a new connection. */
export function visitors(server: TestServer, host: string): Load<{ answered: number; failed: number; darkMs: number }> {
  let [answered, failed, darkMs] = [0, 0, 0];
  let darkSince: number | undefined;
  const end = repeated(2, async () => {
    const isAnswered = await visit(server, host);
    const nowMs = performance.now();
    if (isAnswered) {
      answered += 1;
      if (darkSince !== undefined) darkMs = Math.max(darkMs, nowMs - darkSince);
      darkSince = undefined;
    } else {
      failed += 1;
      darkSince ??= nowMs;
    }
    await delay(10);
  });
  return {
    async end() {
      await end();
      return { answered, failed, darkMs: Math.round(darkMs) };
    },
  };
}

export const visit = ({ proxyPort }: TestServer, host: string): Promise<boolean> =>
  new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port: proxyPort, headers: { host }, agent: false, timeout: 10_000 });
    asked.once("response", (response) => response.resume().once("end", () => resolve(response.statusCode === 200)));
    asked
      .once("error", () => resolve(false))
      .once("timeout", () => asked.destroy())
      .end();
  });
