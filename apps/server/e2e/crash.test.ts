import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  get,
  outcomeOf,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer, until } from "./server.fixture.ts";

const CRASHING = fileURLToPath(new URL("./crash-main.ts", import.meta.url));
const STEPS = ["checkout", "build", "start", "health", "switch"] as const;
const MOMENTS = ["before", "middle", "after"] as const;

describe("kill -9 of the server in a step of a deployment", () => {
  let server: TestServer;
  let plain: Deployed;
  let version = 0;
  const source = temporaryRepository(plainServer("0"));
  beforeAll(async () => {
    server = await testServer({ main: CRASHING });
    plain = await createApplication(server, source, { name: "plain" });
    expect(await deploy(server, plain.uuid)).toMatchObject({ status: "finished" });
  }, 120_000);
  afterAll(async () => {
    await server.dispose();
    source.dispose();
  });

  it.each(STEPS.flatMap((step) => MOMENTS.map((moment) => ({ step, moment }))))(
    "$moment $step: it ends with a result, and something served throughout",
    async ({ step, moment }) => {
      const before = (await get(server, plain.host)).body;
      await server.stop();
      await server.start({ BERTH_CRASH: `${step}:${moment}` });
      await until(async () => (await get(server, plain.host).catch(() => undefined))?.status === 200);
      const watch = watching(server, plain.host);
      version += 1;
      source.commit(plainServer(String(version)));
      // The server may be dead before it has answered.
      await requestDeployment(server, plain.uuid).catch(() => undefined);
      await server.exited();

      await server.start();
      const deployment = await newestDeployment(server, plain.uuid);
      const outcome = await outcomeOf(server, deployment);
      const seen = await watch.end();
      expect(["finished", "failed"], outcome.log).toContain(outcome.status);
      if (outcome.status === "failed") expect(outcome.error).toMatch(/\S.+\.$/);
      expect(seen.failures).toEqual([]);
      const now = (await get(server, plain.host)).body;
      expect(now).toBe(outcome.status === "finished" ? String(version) : before);
      await until(() => releasesOf(plain.uuid).size === 1);
      expect(outcome.steps.filter(({ status }) => status === "running")).toEqual([]);
      const active = await server.rest("GET", "/deployments");
      expect(active.body).toEqual([]);
    },
    120_000,
  );
});

async function newestDeployment(server: TestServer, uuid: string): Promise<string> {
  const { body } = await server.rest("GET", `/deployments/applications/${uuid}?take=1`);
  const [newest] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
  if (newest === undefined) throw new Error("No deployment was recorded.");
  return newest.deployment_uuid;
}

/** Asks again and again; every answer that is not the application's is a failure. */
function watching(server: TestServer, host: string) {
  const failures: string[] = [];
  let isOn = true;
  const loop = (async () => {
    while (isOn) {
      await get(server, host).then(
        ({ status, body }) => status === 200 || failures.push(`${status} ${body}`),
        (cause: unknown) => failures.push(String(cause)),
      );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  })();
  return {
    end: async () => {
      isOn = false;
      await loop;
      return { failures };
    },
  };
}

/** The ports of all processes that belong to the resource: one for each release that runs. */
function releasesOf(resourceUuid: string): ReadonlySet<string> {
  const ports = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const environment = environmentOf(pid);
    if (!environment.includes(`BERTH_RESOURCE_UUID=${resourceUuid}`)) continue;
    const port = environment.find((entry) => entry.startsWith("PORT="));
    if (port !== undefined) ports.add(port);
  }
  return ports;
}

/** Empty for a process that has ended or that we may not look into. */
function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}
