import { DomainError } from "@berth/core";
import type { ApplicationSettings } from "@berth/core/application";
import { liveKeyOf } from "@berth/core/deploy";
import type { ApplicationRecord } from "@berth/core/ports";
import { assertTook, took, until } from "@berth/testing";
import { describe, expect, test } from "vitest";
import { openEachWorld } from "../each-world.fixture.ts";
import { life } from "../killable.fixture.ts";
import type { BuildServer, World } from "../world.fixture.ts";

let world: World;
let builder: BuildServer;
const registry = new Map<string, string>();
openEachWorld(async (opened) => {
  world = opened;
  registry.clear();
  world.engine.registry = registry;
  builder = await world.buildServer();
});

const NAME = "registry.example.com/team/app";
const broken = () => new DomainError("engine.unreachable", "The connection died.");
const application = (settings: Partial<ApplicationSettings> = {}) =>
  world.application({ use_build_server: true, ...settings });
const runs = async ({ uuid }: ApplicationRecord) => await world.proxy.request(uuid);

async function deployed(app: ApplicationRecord, fields = {}) {
  const ended = await world.ended(await world.deploy(app, fields));
  return { ...ended, log: await world.log(ended) };
}

describe("an application that uses a build server", () => {
  test("is built there, brought over and started on its own server, and leaves nothing behind there", async () => {
    world.worker();
    const app = await application();
    const ended = await deployed(app);
    expect(ended).toMatchObject({ status: "finished", build_server_id: builder.server.id });
    expect(await runs(app)).toBe(ended.uuid);
    expect(builder.points.count("build")).toBe(1);
    expect(world.points.count("build")).toBe(0);
    expect(builder.engine.artifacts()).toEqual([]);
    expect(ended.log).toContain("Builds on build server builder-1.");
    expect(ended.log).toContain("Moves the image, about 0.0 MB, from builder-1 to localhost");
  });

  test("is built on its own server where none can be used, and says why", async () => {
    world.worker();
    await world.stores.servers.update(builder.server.uuid, { settings: { is_usable: false } });
    const ended = await deployed(await application());
    expect(ended).toMatchObject({ status: "finished", build_server_id: null });
    expect(ended.log).toContain("Builds on the application's own server: no build server of the team is usable");
    world.engine.registry = undefined;
    const folder = await deployed(await application({ docker_registry_image_name: NAME }));
    expect(folder).toMatchObject({ status: "finished", build_server_id: null });
    expect(folder.log).toContain("localhost cannot run images");
    expect(folder.log).toContain("localhost does not build images, so none is pushed.");
    expect((await deployed(await world.application())).log).not.toContain("Builds on");
  });

  test("waits until the build server has a place for it, and is cancelled while it does", async () => {
    await world.stores.servers.update(builder.server.uuid, { settings: { concurrent_builds: 1 } });
    world.worker();
    const held = builder.points.hold("build");
    const first = await world.deploy(await application());
    await held.reached;
    const [second, third] = [await world.deploy(await application()), await world.deploy(await application())];
    for (const waiting of [second, third]) {
      await until(
        async () =>
          (await world.log(waiting)).includes("Waits for build server builder-1, where 1 builds run at once."),
        { what: "it says that it waits" },
      );
    }
    expect(builder.points.count("build")).toBe(1);
    await world.stores.deployments.requestCancel(third.uuid);
    expect(await world.ended(third)).toMatchObject({ status: "cancelled-by-user" });
    held.open();
    for (const each of [first, second]) expect(await world.ended(each)).toMatchObject({ status: "finished" });
    expect(builder.points.count("build")).toBe(2);
  });

  test("begins its move once more when the connection dies in the middle", async () => {
    world.worker();
    builder.points.fail("save", broken());
    const ended = await deployed(await application());
    expect(ended).toMatchObject({ status: "finished" });
    expect(ended.log).toContain("The move was interrupted and begins again: The connection died.");
  });

  test("fails when the connection dies again, and what ran continues", async () => {
    world.worker();
    const app = await application();
    const first = await deployed(app);
    builder.points.fail("save", broken(), 2);
    const second = await deployed(app);
    expect(second).toMatchObject({
      status: "failed",
      error: "The image could not be moved from builder-1 to localhost: The connection died.",
    });
    expect(await runs(app)).toBe(first.uuid);
    expect(world.engine.artifacts()).toEqual([first.uuid]);
    expect(builder.engine.artifacts()).toEqual([]);
  });

  test.each([
    ["build", () => builder.points],
    ["load", () => world.points],
  ])("is cancelled in the middle of its %s within 5 seconds", async (point, where) => {
    world.worker();
    const held = where().hold(point);
    const app = await application();
    const deployment = await world.deploy(app);
    await held.reached;
    const ended = async () => {
      await world.stores.deployments.requestCancel(deployment.uuid);
      expect(await world.ended(deployment)).toMatchObject({ status: "cancelled-by-user" });
    };
    await assertTook(await took(ended), 5000);
    expect([...world.engine.artifacts(), ...builder.engine.artifacts()]).toEqual([]);
  });

  test.each([
    ["build", () => builder.points],
    ["load", () => world.points],
  ])("is built at the same place by the worker that continues in the middle of its %s", async (point, where) => {
    const other = await world.buildServer();
    const first = world.worker();
    const held = where().hold(point);
    const deployment = await world.deploy(await application());
    await held.reached;
    first.kill();
    world.worker();
    expect(await world.ended(deployment)).toMatchObject({ status: "finished", build_server_id: builder.server.id });
    expect([builder, other].map(({ points }) => points.count("build"))).toEqual([2, 0]);
    expect(builder.engine.artifacts()).toEqual([]);
  });

  test("is built elsewhere when that place is gone in the meantime", async () => {
    const first = world.worker();
    const held = builder.points.hold("build");
    const deployment = await world.deploy(await application());
    await held.reached;
    first.kill();
    const other = await world.buildServer();
    await world.stores.servers.update(builder.server.uuid, { settings: { is_reachable: false } });
    world.worker();
    expect(await world.ended(deployment)).toMatchObject({ status: "finished", build_server_id: other.server.id });
    expect(await world.log(deployment)).toContain("The previous build server can no longer be used.");
  });

  test("goes where the fewest builds are under way", async () => {
    const other = await world.buildServer();
    world.worker();
    const held = builder.points.hold("build");
    const one = await world.deploy(await application());
    await held.reached;
    expect(await deployed(await application())).toMatchObject({ build_server_id: other.server.id });
    held.open();
    expect(await world.ended(one)).toMatchObject({ build_server_id: builder.server.id });
  });

  test("comes through the registry that it is set to, and without it where its server cannot reach that", async () => {
    world.worker();
    const app = await application({ docker_registry_image_name: NAME, docker_registry_image_tag: "live" });
    const first = await deployed(app);
    expect(first).toMatchObject({ status: "finished" });
    expect([...registry.keys()]).toEqual(expect.arrayContaining([`${NAME}:live`, `${NAME}:${first.commit}`]));
    expect(builder.points.count("save")).toBe(0);
    expect((await world.system.releases.live(liveKeyOf(app)))?.artifact).toMatchObject({
      digest: `${NAME}@sha256:${first.uuid}`,
    });
    world.points.fail("pull", new DomainError("deploy.build_failed", "The registry could not be reached."));
    const second = await deployed(app);
    expect(second).toMatchObject({ status: "finished" });
    expect(second.log).toContain("The registry could not be reached. The image is moved without the registry.");
  });
});

describe("an application with the name of an image in a registry", () => {
  test("is pushed there from its own server, and fails before the switch when the registry refuses", async () => {
    world.worker();
    const app = await world.application({ docker_registry_image_name: NAME });
    const first = await deployed(app);
    expect(registry.get(`${NAME}:${first.commit}`)).toBe(`berth/${app.uuid}:${first.uuid}`);
    world.points.fail("push", new DomainError("deploy.build_failed", "The registry wants a login."));
    const second = await deployed(app);
    expect(second).toMatchObject({ status: "failed", error: "The registry wants a login." });
    expect(await runs(app)).toBe(first.uuid);
    expect(world.engine.artifacts()).toEqual([first.uuid]);
  });

  test("is rolled back to by its digest when its server has lost the image", async () => {
    world.engine.keepsBuilds = true;
    world.worker();
    const app = await application({ docker_registry_image_name: NAME, docker_images_to_keep: 2 });
    const first = await deployed(app);
    const second = await deployed(app);
    await until(async () => (await world.system.releases.find(first.id))?.role === "kept", { what: "it is kept" });
    // The image is removed without Berth.
    await world.engine.for(life()).remove({ resourceUuid: app.uuid, deploymentUuid: first.uuid });
    const back = await deployed(app, { commit: first.commit, rollback: true, rollback_to: first.uuid });
    expect(back, back.error ?? "").toMatchObject({ status: "finished" });
    expect(back.log).toContain("so it is pulled again.");
    expect(await runs(app)).toBe(back.uuid);
    expect(second.status).toBe("finished");
  });
});
