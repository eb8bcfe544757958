import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const ON = { is_preview_deployments_enabled: true };
let names = 0;

async function created(fields: object = {}): Promise<string> {
  const name = `Previewed ${++names}`;
  const domains = `https://${name.replace(" ", "-")}.example`;
  const asked = gitApplication(at, { name, domains, ...ON, ...fields });
  return (await at.own.applications.createPublic(asked)).uuid;
}
async function deployed(uuid: string, pull_request_id = 7, fields: object = {}) {
  const { deployments } = await at.own.deploy({ uuid, pull_request_id, ...fields });
  if (deployments === undefined) throw new Error("It was asked for by uuid.");
  return deployments;
}
const previewsOf = async (uuid: string) => (await at.own.previews.list(uuid, {})).items;
const recordOf = async (uuid: string) => {
  const record = await at.stores.applications.find(uuid);
  if (record === undefined) throw new Error("It is there.");
  return record;
};

describe("a deployment of a pull request", () => {
  test("[S65] makes its preview with a URL of its own, once", async () => {
    const uuid = await created({ domains: "https://shop.example:8080/cart" });
    const [first] = await deployed(uuid);
    expect(first).toMatchObject({ resource_uuid: uuid, deployment_uuid: expect.any(String) });
    const deployment = await at.own.deployments.get(first?.deployment_uuid ?? "");
    expect(deployment).toMatchObject({ pull_request_id: 7, commit: "HEAD", is_api: true, is_webhook: false });
    const [preview] = await previewsOf(uuid);
    expect(preview).toMatchObject({
      pull_request_id: 7,
      fqdn: "https://7.shop.example:8080/cart",
      urls: ["https://7.shop.example:8000/cart"],
      status: "exited:unhealthy",
    });
    await deployed(uuid, 7, { force: true });
    await deployed(uuid, 8);
    expect((await previewsOf(uuid)).map(({ id, pull_request_id }) => [id === preview?.id, pull_request_id])).toEqual([
      [true, 7],
      [false, 8],
    ]);
    const { items } = await at.own.deployments.listByResource({ kind: "application", uuid }, { pull_request_id: 7 });
    expect(items).toHaveLength(2);
  });

  test("fills in the application's own template", async () => {
    const uuid = await created({
      domains: "https://tpl.example",
      preview_url_template: "pr-{{pr_id}}-{{random}}.{{domain}}",
    });
    await deployed(uuid);
    expect((await previewsOf(uuid))[0]?.fqdn).toMatch(/^https:\/\/pr-7-[a-z0-9]{12}\.tpl\.example$/);
  });

  test("makes one preview with one URL for many requests at once", async () => {
    const uuid = await created({ domains: "https://crowd.example", preview_url_template: "{{random}}.{{domain}}" });
    const answers = await Promise.all(Array.from({ length: 8 }, () => deployed(uuid)));
    expect(new Set(answers.map(([entry]) => entry?.deployment_uuid)).size).toBe(1);
    const [preview, ...others] = await previewsOf(uuid);
    expect([preview?.fqdn, others]).toEqual([expect.stringMatching(/^https:\/\/[a-z0-9]{12}\.crowd\.example$/), []]);
  });

  test("keeps the preview's URL when the application's changes", async () => {
    const uuid = await created({ domains: "https://before.example" });
    await deployed(uuid);
    await at.own.applications.update(uuid, { domains: "https://after.example" });
    await deployed(uuid, 7, { force: true });
    await deployed(uuid, 8);
    const urls = (await previewsOf(uuid)).map(({ fqdn }) => fqdn);
    expect(urls).toEqual(["https://7.before.example", "https://8.after.example"]);
  });

  test("does without a URL where the application has none", async () => {
    const uuid = await created({ domains: null, autogenerate_domain: false });
    await deployed(uuid);
    expect((await previewsOf(uuid))[0]).toMatchObject({ fqdn: null, urls: [] });
  });

  test("leaves an application that was stopped as it is", async () => {
    const uuid = await created();
    await deployed(uuid);
    expect((await recordOf(uuid)).desired_state).toBe("stopped");
  });

  test("of an application that has no previews tells so, and queues and makes nothing", async () => {
    const off = await created({ name: "Off", is_preview_deployments_enabled: false });
    const on = await created({ name: "On" });
    const upload = (await at.own.applications.createUpload({ ...at.where, name: "Uploaded", ...ON })).uuid;
    const entries = await deployed([off, on, upload].join(","));
    expect(entries).toEqual([
      {
        message: "Application Off has no preview of pull request 7: is_preview_deployments_enabled is off.",
        resource_uuid: off,
      },
      { message: "Application On deployment queued.", resource_uuid: on, deployment_uuid: expect.any(String) },
      { message: "Application Uploaded has no pull requests: its source is upload.", resource_uuid: upload },
    ]);
    expect(await previewsOf(off)).toEqual([]);
  });

  test("of an image runs the tag that it is given, and remembers it", async () => {
    Object.assign(at.engine.capabilities, { build_packs: ["dockerimage"] });
    const asked = { ...at.where, name: "Imaged", docker_registry_image_name: "nginx:1.27", ...ON };
    const { uuid } = await at.own.applications.createImage(asked);
    Object.assign(at.engine.capabilities, { build_packs: ["nixpacks", "railpack", "static"] });
    expect((await deployed(uuid))[0]?.message).toContain("docker_tag");
    expect(await previewsOf(uuid)).toEqual([]);
    const tagOf = async (entries: Awaited<ReturnType<typeof deployed>>) =>
      (await at.own.deployments.get(entries[0]?.deployment_uuid ?? "")).docker_registry_image_tag;
    expect(await tagOf(await deployed(uuid, 7, { docker_tag: "pr-7" }))).toBe("pr-7");
    expect(await tagOf(await deployed(uuid, 7, { docker_tag: "pr-7b" }))).toBe("pr-7b");
    expect(await tagOf(await deployed(uuid, 7, { force: true }))).toBe("pr-7b");
  });

  test("is refused, and makes nothing, where its URL is taken", async () => {
    const uuid = await created({ name: "Shop", domains: "https://taken.example" });
    const holder = await created({ name: "Holder", domains: "https://7.taken.example" });
    await expect(deployed(uuid)).rejects.toMatchObject({
      code: "domain.conflict",
      message: expect.stringContaining("https://7.taken.example, is taken"),
      details: { conflicts: [{ resource_uuid: holder }] },
    });
    expect(await previewsOf(uuid)).toEqual([]);
    await deployed(uuid, 8);
    await expect(
      at.own.applications.createPublic(gitApplication(at, { domains: "https://8.taken.example" })),
    ).rejects.toMatchObject({
      code: "domain.conflict",
      details: {
        conflicts: [{ message: expect.stringContaining("the preview of pull request 8 of application 'Shop'") }],
      },
    });
  });

  test("is refused, and makes nothing, when the queue is full", async () => {
    const uuid = await created();
    const { server } = at.place;
    const limit = async (deployment_queue_limit: number) =>
      at.stores.servers.update(server.uuid, { settings: { ...server.settings, deployment_queue_limit } });
    await limit(1);
    await expect(deployed(uuid)).rejects.toMatchObject({ code: "queue.full" });
    expect(await previewsOf(uuid)).toEqual([]);
    await limit(1000);
  });
});

describe("deleting a preview", () => {
  test("ends its deployments and no others, and says once that it goes", async () => {
    const uuid = await created();
    for (const pullRequest of [7, 8]) await deployed(uuid, pullRequest);
    await at.own.deploy({ uuid });
    const message = "Preview deletion request queued.";
    const asked = await at.own.previews.delete(uuid, 7);
    expect(asked).toEqual({ message, job_uuid: expect.any(String) });
    // A second request returns the same job.
    expect(await at.own.previews.delete(uuid, 7)).toEqual(asked);
    const { items } = await at.own.deployments.listByResource({ kind: "application", uuid }, {});
    expect(items.map(({ pull_request_id, status }) => [pull_request_id, status]).sort()).toEqual([
      [0, "queued"],
      [7, "cancelled-by-user"],
      [8, "queued"],
    ]);
    expect((await previewsOf(uuid)).map(({ status }) => status)).toEqual(["removing:unhealthy", "exited:unhealthy"]);
    const events = (await at.stores.events.list({})).filter(({ type }) => type === "preview.removing");
    expect(events.filter(({ resource_uuid }) => resource_uuid === uuid)).toHaveLength(1);
  });

  test("lets a deployment of it wait in the queue until it is gone", async () => {
    const uuid = await created();
    await deployed(uuid);
    await at.own.previews.delete(uuid, 7);
    const [waiting] = await deployed(uuid);
    const { id } = await recordOf(uuid);
    const preview = await at.stores.previews.find(id, 7);
    await at.db.system.previews.delete(preview?.id ?? 0);
    expect(await previewsOf(uuid)).toMatchObject([{ uuid: preview?.uuid, status: "exited:unhealthy" }]);
    expect(await at.own.deployments.get(waiting?.deployment_uuid ?? "")).toMatchObject({ status: "queued" });
  });

  test("that was never made is not found", async () => {
    const uuid = await created();
    await expect(at.own.previews.delete(uuid, 7)).rejects.toThrow("Preview not found.");
    await expect(at.own.previews.delete("unknown", 7)).rejects.toThrow("Application not found.");
    await deployed(uuid);
    await expect(at.otherTeam.control.previews.delete(uuid, 7)).rejects.toThrow("Application not found.");
    await expect(at.as(at.place.server.team_id, "read", "deploy").previews.delete(uuid, 7)).rejects.toMatchObject({
      code: "auth.missing_ability",
    });
  });
});
