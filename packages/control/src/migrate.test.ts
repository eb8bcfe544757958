import type { ResourceRef } from "@berth/core/resource";
import { printingEngine, type TestPlace, testPlace } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
let there: TestPlace;
beforeAll(async () => {
  at = await world({ engineFor: () => printingEngine({ kinds: ["application", "database"] }) });
  there = await testPlace(at.stores);
});
afterAll(() => at.db.close());

describe("an application that moves to another server", () => {
  let uuid: string;
  let ref: ResourceRef & { readonly kind: "application" };
  beforeEach(async () => {
    ({ uuid } = await at.own.applications.createPublic(gitApplication(at)));
    ref = { kind: "application", uuid };
  });
  const migrate = (fields: object = {}, target = there) =>
    at.own.migrations.migrate(uuid, { destination_uuid: target.destination.uuid, ...fields });
  const record = async () => {
    const found = await at.stores.applications.find(uuid);
    if (found === undefined) throw new Error("The application is gone.");
    return found;
  };

  test("is only recorded there while it does not run", async () => {
    expect(await migrate()).toEqual({
      message: "Application migrated successfully.",
      uuid,
      destination_uuid: there.destination.uuid,
      async: false,
      deployment_uuid: null,
      volume_jobs: [],
    });
    expect(await record()).toMatchObject({
      server_id: there.server.id,
      destination_id: there.destination.id,
      desired_state: "stopped",
    });
    const { events } = await at.own.activity.list({ take: 1 });
    expect(events).toMatchObject([{ type: "resource.migrated", payload: { server: there.server.name } }]);
  });

  test("is deployed there if it should run, and not moved again meanwhile", async () => {
    await at.stores.resources.setDesiredState((await record()).id, "running");
    const { async, deployment_uuid, message } = await migrate();
    expect([async, message]).toEqual([true, "Application migration started."]);
    const queued = await at.stores.deployments.find(deployment_uuid ?? "");
    expect(queued).toMatchObject({ server_id: there.server.id, status: "queued" });
    await expect(migrate({}, at.place)).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("is being deployed"),
    });
  });

  test("is refused where it is, and with previews, which would be left behind", async () => {
    await expect(migrate({}, at.place)).rejects.toMatchObject({
      fields: { destination_uuid: [expect.stringContaining("already")] },
    });
    const { id } = await record();
    await at.stores.previews.open(id, `preview-of-${uuid}`, { pull_request_id: 7 });
    await expect(migrate()).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("previews"),
    });
  });

  test("keeps its data where it is, unless it may start without", async () => {
    const { id } = await record();
    const storage = await at.own.storages.create(ref, { type: "persistent", name: "data", mount_path: "/data" });
    await at.stores.storages.recordVolumes(id, [storage.uuid]);
    await expect(migrate()).rejects.toMatchObject({
      fields: { migrate_volumes: [expect.stringMatching(/data in \/data, .* Turn this off \(false\)/)] },
    });
    expect((await record()).server_id).toBe(at.place.server.id);
    await migrate({ migrate_volumes: false });
    expect((await record()).server_id).toBe(there.server.id);
    const [kept] = (await at.stores.storages.list(id)).items;
    expect(kept?.has_volume).toBe(false);
  });

  test("is refused while it could not reach its database from there", async () => {
    const db = await at.own.databases.create("postgresql", { ...at.where, name: `db ${uuid}` });
    await at.own.attachments.attach(db.uuid, { resource_uuid: uuid });
    await expect(migrate()).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining(`db ${uuid}`),
    });
    await at.own.databases.update(db.uuid, { is_public: true, public_port: 24_000 });
    await migrate();
  });

  test("takes its scheduled tasks and its container's name along", async () => {
    const task = { name: "nightly", command: "true", frequency: "daily" };
    await at.own.scheduledTasks.create(ref, task);
    const named = { custom_internal_name: "shop", is_consistent_container_name_enabled: true };
    await at.own.applications.update(uuid, named);
    const other = await at.own.applications.createPublic({ ...gitApplication(at), server_uuid: there.server.uuid });
    await at.own.applications.update(other.uuid, named);
    await expect(migrate()).rejects.toMatchObject({ code: "resource.already_exists" });
    await at.own.applications.update(other.uuid, { custom_internal_name: null });
    await migrate();
    const { kysely } = at.db.database;
    const schedule = await kysely
      .selectFrom("schedule")
      .select("server_id")
      .where("server_id", "=", there.server.id)
      .where("kind", "=", "scheduled_task")
      .execute();
    expect(schedule).toHaveLength(1);
    await expect(at.own.applications.update(other.uuid, named)).rejects.toMatchObject({
      code: "resource.already_exists",
    });
  });

  test("is refused to a server that is being removed", async () => {
    const leaving = await testPlace(at.stores);
    await at.stores.servers.markRemoving(leaving.server.id);
    await expect(migrate({}, leaving)).rejects.toMatchObject({ code: "resource.state" });
    expect((await record()).server_id).toBe(at.place.server.id);
  });

  test("brings no folder of a server to Berth's own machine, unless the operator moves it", async () => {
    const own = await testPlace(at.stores);
    await at.stores.servers.update(own.server.uuid, { ip: "127.0.0.1" });
    await at.own.storages.create(ref, { type: "persistent", name: "host", mount_path: "/host", host_path: "/srv" });
    await expect(migrate({}, own)).rejects.toMatchObject({ code: expect.stringMatching(/^auth\./) });
    expect((await record()).server_id).toBe(at.place.server.id);
  });
});
