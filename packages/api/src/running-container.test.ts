import { REPLICA, type ReleaseState } from "@berth/core/deploy";
import { printingEngine } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createdApplication, gitApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
const engine = printingEngine();
const manyEngine = printingEngine({ replicas: true, placement: true });
const networkedEngine = printingEngine({ networks: true });
let used = engine;
beforeAll(async () => {
  api = await served({ engineFor: () => used });
});
afterAll(() => api.close());

async function running(): Promise<{ readonly uuid: string; readonly deploymentUuid: string }> {
  const { json } = await api.ask("POST", "/applications/public", {
    body: { ...gitApplication(api), instant_deploy: true },
  });
  const { deployments, releases } = api.db.system;
  const claim = await deployments.claimNext({ owner: "test", leaseSeconds: 60 });
  if (claim === undefined) throw new Error("Nothing waits.");
  const { uuid: deploymentUuid } = claim.deployment;
  const artifact = { type: "image", image: "test" } as const;
  await releases.saveCandidate(claim.lease, { artifact, upstream: null, built_by: deploymentUuid });
  await releases.promote(claim.lease);
  await deployments.finish(claim.lease, "finished", null);
  return { uuid: json.uuid, deploymentUuid };
}

const state = (resourceUuid: string, deploymentUuid: string): ReleaseState => ({
  ...{ resourceUuid, deploymentUuid, state: "running", upstream: null, restartCount: 2, exitCode: 1 },
  startedAt: new Date("2026-01-02T03:04:05Z"),
});

test("the containers of a resource are listed as its server reports them", async () => {
  const { uuid, deploymentUuid } = await running();
  expect((await api.ask("GET", `/applications/${uuid}/containers`)).json).toEqual([]);
  const whole = state(uuid, deploymentUuid);
  engine.show(whole);
  const common = { port: null, state: "running", restart_count: 2, exit_code: 1, deployment_uuid: deploymentUuid };
  const started_at = expect.stringContaining("2026-01-02T03:04:05");
  const one = await api.ask("GET", `/applications/${uuid}/containers`);
  expect(one.json).toEqual([{ ...common, name: null, health: null, started_at }]);
  const { upstream: _, resourceUuid: _r, deploymentUuid: _d, ...container } = whole;
  const placed = { name: REPLICA, address: null, port: null, isExcluded: false };
  const containers = [1, 2].map((number) => ({ ...container, ...placed, number, health: "healthy" as const }));
  engine.show({ ...whole, containers });
  const page = await api.ask("GET", `/applications/${uuid}/containers?skip=1&take=1`);
  expect(page.headers["x-total-count"]).toBe("2");
  expect(page.json).toEqual([{ ...common, name: "replica-2", health: "healthy", started_at }]);
});

test("a container has the port that gets its requests, unless Berth chose it for this release", async () => {
  const { uuid, deploymentUuid } = await running();
  const shown = { ...state(uuid, deploymentUuid), upstream: { host: "172.18.0.2", port: 8080 } };
  for (const each of [engine, networkedEngine]) each.show(shown);
  const port = async () => (await api.ask("GET", `/applications/${uuid}/containers`)).json[0].port;
  expect(await port()).toBeNull();
  used = networkedEngine;
  try {
    expect(await port()).toBe(8080);
  } finally {
    used = engine;
  }
});

test("what was never deployed has none", async () => {
  const uuid = await createdApplication(api);
  expect((await api.ask("GET", `/applications/${uuid}/containers`)).json).toEqual([]);
});

test("an application has several containers only where its server runs containers", async () => {
  const uuid = await createdApplication(api);
  const asked = (body: object) => api.ask("PATCH", `/applications/${uuid}`, { body });
  const refused = await asked({ replicas: 3 });
  expect(refused.status).toBe(422);
  expect(refused.json).toMatchObject({ code: "engine.unsupported", errors: { replicas: [expect.any(String)] } });
  used = manyEngine;
  try {
    expect((await asked({ replicas: 3 })).status).toBe(200);
    const { json } = await api.ask("GET", `/applications/${uuid}`);
    expect([json.replicas, json.swarm_replicas]).toEqual([3, 3]);
    expect((await asked({ ports_mappings: "8080:80" })).json).toMatchObject({
      errors: { replicas: [expect.stringContaining("port 8080")] },
    });
    const bounded = { autoscaling_enabled: true, autoscaling_replicas_min: 4 };
    expect((await asked({ ...bounded, autoscaling_replicas_max: 2 })).json).toMatchObject({
      errors: { autoscaling_replicas_min: [expect.any(String)] },
    });
    expect((await asked({ ...bounded, autoscaling_replicas_max: 8 })).status).toBe(200);
    expect((await api.ask("GET", `/applications/${uuid}`)).json).toMatchObject({
      ...bounded,
      autoscaling_replicas_max: 8,
      autoscaling_cpu_percent: 70,
      autoscaling_memory_mb: null,
      autoscaling_requests_per_second: null,
    });
    const byMemory = { autoscaling_cpu_percent: null, autoscaling_memory_mb: 500 };
    expect((await asked(byMemory)).status).toBe(200);
    expect((await api.ask("GET", `/applications/${uuid}`)).json).toMatchObject(byMemory);
    const byRequests = await asked({ autoscaling_requests_per_second: 100 });
    expect(byRequests.status).toBe(422);
    expect(byRequests.json).toMatchObject({
      errors: {
        autoscaling_requests_per_second: [expect.stringMatching(/counts no requests\. Change it to Caddy: berth /)],
      },
    });
    for (const replicas of [0, 101, 1.5, "many"]) expect((await asked({ replicas })).status).toBe(422);
    const created = await api.ask("POST", "/applications/public", { body: { ...gitApplication(api), replicas: 2 } });
    expect(created.status).toBe(201);
  } finally {
    used = engine;
  }
  for (const many of [{ replicas: 2 }, { autoscaling_enabled: true }]) {
    const created = await api.ask("POST", "/applications/public", { body: { ...gitApplication(api), ...many } });
    expect(created.json).toMatchObject({ code: "engine.unsupported" });
  }
});

test("an application has constraints for its nodes only where its server has some", async () => {
  const uuid = await createdApplication(api);
  const asked = (body: object) => api.ask("PATCH", `/applications/${uuid}`, { body });
  const shown = async () => (await api.ask("GET", `/applications/${uuid}`)).json;
  const field = "swarm_placement_constraints";
  const constraints = "node.labels.zone == a\nnode.role != manager";
  expect(await shown()).toMatchObject({ [field]: null, settings: { is_swarm_only_worker_nodes: true } });
  const refused = await asked({ [field]: constraints });
  expect(refused.status).toBe(422);
  expect(refused.json).toMatchObject({ code: "engine.unsupported", errors: { [field]: [expect.any(String)] } });
  const body = { ...gitApplication(api), [field]: constraints };
  expect((await api.ask("POST", "/applications/public", { body })).status).toBe(422);
  used = manyEngine;
  try {
    expect((await asked({ [field]: constraints, is_swarm_only_worker_nodes: false })).status).toBe(200);
    expect(await shown()).toMatchObject({ [field]: constraints, settings: { is_swarm_only_worker_nodes: false } });
    const wrong = await asked({ [field]: "bogus == 1" });
    expect([wrong.status, wrong.json.errors[field]]).toEqual([422, [expect.stringContaining("node.labels.NAME")]]);
    const created = await api.ask("POST", "/applications/public", { body });
    expect((await api.ask("GET", `/applications/${created.json.uuid}`)).json).toMatchObject({ [field]: constraints });
  } finally {
    used = engine;
  }
  // What was set before can still be removed where the engine has no nodes.
  expect((await asked({ name: "renamed" })).status).toBe(200);
  expect((await asked({ [field]: null })).status).toBe(200);
  expect((await shown())[field]).toBeNull();
});
