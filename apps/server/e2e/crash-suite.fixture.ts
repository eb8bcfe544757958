import { eventually, until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { outcomeOf, requestDeployment } from "./applications.fixture.ts";
import { type CrashInstallation, watching } from "./crash.fixture.ts";
import type { PlacedResource } from "./placed-resource.fixture.ts";
import type { TestServer } from "./server.fixture.ts";

export const STEPS = ["checkout", "build", "start", "health", "switch"] as const;
export type CrashStep = (typeof STEPS)[number];

/** Before a step begins, while it runs, and after it is done but not yet recorded. */
type Moment = "before" | "middle" | "after";

export interface CrashSuite {
  /** Deploys the resources of the suite. */
  readonly open: () => Promise<CrashInstallation>;
  readonly moments: readonly Moment[];
  /** Steps to test. Default: all. */
  readonly steps?: readonly CrashStep[];
  /** Whether the product's own leases and intervals are tested as well. */
  readonly hasProductTimes?: boolean;
}

/** Kills the server in each step of a deployment, at each of these moments. */
export function crashSuite({ open, moments, steps = STEPS, hasProductTimes = false }: CrashSuite): void {
  let place: CrashInstallation;
  let version = 0;
  /** Values that were stored in resources with data. */
  const kept: string[] = [];
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place?.dispose());

  /** Starts the server where a test that failed has left it ended, and waits for what that test had deployed. */
  async function ready(): Promise<void> {
    const { server, resources } = place;
    const isUp = await server.rest("GET", "/version").then(
      () => true,
      () => false,
    );
    if (isUp) return;
    await server.stop();
    await server.start();
    for (const resource of resources) await outcomeOf(server, await newestDeployment(server, resource));
  }

  /** Requests a deployment of each resource, during which the server dies. */
  async function killed(crash: string, env: Readonly<Record<string, string>> = {}): Promise<readonly Asked[]> {
    const { server, resources } = place;
    await ready();
    const before = await Promise.all(
      resources.map(async (resource) => {
        const { body } = await resource.visit();
        return { resource, body, newest: await newestDeployment(server, resource) };
      }),
    );
    await server.stop();
    await server.start({ BERTH_CRASH: `${crash}:${resources.length}`, ...env });
    await Promise.all(resources.map((one) => until(() => isServing(one))));
    version += 1;
    kept.push(String(version));
    await Promise.all(resources.map((one) => one.kept?.add(String(version))));
    const asked = before.map((one) => ({ ...one, watch: watching(one.resource), wanted: String(version) }));
    await Promise.all(resources.map((one) => one.change(String(version))));
    // The server may die before it answers.
    await Promise.all(resources.map(({ uuid }) => requestDeployment(server, uuid).catch(() => undefined)));
    await server.exited();
    return asked;
  }

  /** @returns Whether a deployment was recorded. */
  async function settled({ resource, body, newest, watch, wanted }: Asked): Promise<boolean> {
    const { server } = place;
    const deployment = await newestDeployment(server, resource);
    const outcome = await outcomeOf(server, deployment);
    expect(["finished", "failed"], outcome.log).toContain(outcome.status);
    if (outcome.status === "failed") expect(outcome.error).toMatch(/\S.+\.$/);
    expect(await watch.end()).toEqual([]);
    const wasAsked = deployment !== newest;
    const served = wasAsked && outcome.status === "finished" ? wanted : body;
    // A release that stopped for its successor is started again when that fails, at the next reconciliation.
    if (!resource.isSeamless && outcome.status === "failed") await until(() => isServing(resource), { seconds: 60 });
    expect((await resource.visit()).body).toBe(served);
    await until(async () => (await resource.releases()) === 1, { seconds: 60 });
    await until(async () => (await outcomeOf(server, deployment)).steps.every(({ status }) => status !== "running"));
    if (resource.kept !== undefined) expect(await resource.kept.all()).toEqual(kept);
    if (place.strays !== undefined) await eventually(async () => expect(await place.strays?.()).toEqual([]));
    return wasAsked;
  }

  it.each(steps.flatMap((step) => moments.map((moment) => ({ step, moment }))))(
    "$moment $step: each ends with a result, has one release and all it kept, and something served throughout",
    async ({ step, moment }) => {
      const asked = await killed(`${step}:${moment}`);
      await place.server.start();
      const wereAsked = await Promise.all(asked.map(settled));
      expect(wereAsked).toContain(true);
      expect((await place.server.rest("GET", "/deployments")).body).toEqual([]);
    },
  );

  if (!hasProductTimes) return;
  it("with the product's own patience, each is taken up again within 15 seconds of the start", async () => {
    const { server } = place;
    const product = { BERTH_PATIENCE: "product" };
    const asked = await killed("start:middle", product);
    await server.start(product);
    const startedMs = Date.now();
    await Promise.all(
      asked.map(async ({ resource }) => {
        const uuid = await newestDeployment(server, resource);
        await until(async () => (await logOf(server, uuid)).includes(TAKEN_UP), {
          seconds: (startedMs + TAKEN_UP_MS_MAX - Date.now()) / 1000,
        });
      }),
    );
    expect(await Promise.all(asked.map(settled))).toEqual(asked.map(() => true));
  });
}

const TAKEN_UP = "Resuming after a restart of the control plane.";
const TAKEN_UP_MS_MAX = 15_000;

interface Asked {
  readonly resource: PlacedResource;
  /** Answers of the resource before the deployment and after it. */
  readonly body: string;
  readonly wanted: string;
  /** Uuid of the newest earlier deployment. */
  readonly newest: string;
  readonly watch: ReturnType<typeof watching>;
}

async function newestDeployment(server: TestServer, { kind, uuid }: PlacedResource): Promise<string> {
  const { body } = await server.rest("GET", `/deployments/${kind}/${uuid}?take=1`);
  const [newest] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
  if (newest === undefined) throw new Error("No deployment was recorded.");
  return newest.deployment_uuid;
}

async function logOf(server: TestServer, deploymentUuid: string): Promise<string> {
  return JSON.stringify((await server.rest("GET", `/deployments/${deploymentUuid}/logs`)).body);
}

const isServing = async (resource: PlacedResource): Promise<boolean> =>
  (await resource.visit().catch(() => undefined))?.status === 200;
