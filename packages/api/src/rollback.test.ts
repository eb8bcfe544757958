import { newDeployment, printingEngine } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  const engine = printingEngine({ keepsBuilds: true });
  api = await served({ engineFor: () => engine });
});
afterAll(() => api.close());

const DIGEST = `nginx@sha256:${"0".repeat(64)}`;

/** An application with finished deployments of these commits; the last one runs, the builds of the others are kept. */
async function deployedApplication(commits: readonly string[], isRetired = true) {
  const uuid = await createdApplication(api);
  const application = await api.stores.applications.find(uuid);
  if (application === undefined) throw new Error("It was created above");
  const deployments: string[] = [];
  const { deployments: queue, releases } = api.db.system;
  for (const commit of commits) {
    await api.stores.deployments.enqueue([newDeployment(application, { commit })]);
    const claim = await queue.claimNext({ owner: "worker", leaseSeconds: 60 }, [application.server_id]);
    if (claim === undefined) throw new Error("It was queued above");
    const { lease, deployment } = claim;
    // An image of a registry has no commit, and is named by its digest.
    const digest = commit === "HEAD" ? DIGEST : null;
    const artifact = { type: "image", image: deployment.uuid, digest } as const;
    await releases.saveCandidate(lease, { artifact, built_by: deployment.uuid, upstream: null });
    const promoted = await releases.promote(lease);
    if (promoted?.previous !== undefined && isRetired) await releases.keep(promoted.previous.deployment_id);
    await queue.finish(lease, "finished", null);
    deployments.push(deployment.uuid);
  }
  return { uuid, deployments };
}

describe("a rollback", () => {
  test("lists what is kept and queues a deployment of one of them, by its commit or its deployment", async () => {
    const { uuid, deployments } = await deployedApplication(["aaa111", "bbb222", "HEAD"]);
    const listed = await api.ask("GET", `/applications/${uuid}/rollback-images`);
    expect(listed.json).toMatchObject({
      current: deployments[2],
      images: [
        { tag: deployments[2], is_current: true, deployment_uuid: deployments[2], image: DIGEST },
        { tag: "bbb222", is_current: false, deployment_uuid: deployments[1], image: deployments[1] },
        { tag: "aaa111", is_current: false, deployment_uuid: deployments[0] },
      ],
    });
    const back = await api.ask("POST", `/applications/${uuid}/rollback`, { body: { commit: "aaa111" } });
    expect(back).toMatchObject({ status: 200, json: { message: "Rollback deployment queued." } });
    const queued = await api.ask("GET", `/deployments/${back.json.deployment_uuid}`);
    expect(queued.json).toMatchObject({ rollback: true, commit: "aaa111", status: "queued" });
    const other = await api.ask("POST", `/applications/${uuid}/rollback`, { body: { commit: deployments[1] } });
    expect(other.status).toBe(200);
    expect((await api.ask("GET", `/deployments/${other.json.deployment_uuid}`)).json.commit).toBe("bbb222");
    for (const { json } of [back, other]) await api.ask("POST", `/deployments/${json.deployment_uuid}/cancel`);
  });

  test("runs the release before it also while that is still being stopped", async () => {
    const { uuid, deployments } = await deployedApplication(["aaa111", "bbb222"], false);
    const { images } = (await api.ask("GET", `/applications/${uuid}/rollback-images`)).json;
    expect(images.map((image: { deployment_uuid: string }) => image.deployment_uuid)).toEqual(deployments.toReversed());
    const back = await api.ask("POST", `/applications/${uuid}/rollback`, { body: { commit: deployments[0] } });
    expect(back.status).toBe(200);
    await api.ask("POST", `/deployments/${back.json.deployment_uuid}/cancel`);
  });

  test.each(["ccc333", "-x", "a b", "", "a".repeat(200)])("refuses what is not kept: %j", async (commit) => {
    const { uuid } = await deployedApplication(["aaa111"]);
    const { status, json } = await api.ask("POST", `/applications/${uuid}/rollback`, { body: { commit } });
    expect(status).toBe(422);
    expect(json.errors.commit).toHaveLength(1);
  });

  test("answers 429 on a full queue and 404 for what is not the team's", async () => {
    const { uuid } = await deployedApplication(["aaa111"]);
    const application = await api.stores.applications.find(uuid);
    const server = await api.stores.servers.findById(application?.server_id ?? 0);
    await api.ask("PATCH", `/servers/${server?.uuid}`, { body: { deployment_queue_limit: 1 } });
    await api.ask("POST", `/applications/${uuid}/start`, { body: {} });
    const full = await api.ask("POST", `/applications/${uuid}/rollback`, { body: { commit: "aaa111" } });
    expect(full.status).toBe(429);
    expect((await api.ask("POST", "/applications/nosuch/rollback", { body: { commit: "aaa111" } })).status).toBe(404);
    expect((await api.ask("GET", "/applications/nosuch/rollback-images")).status).toBe(404);
  });
});
