import type { ResourceRef } from "@berth/core/resource";
import { printingEngine, type TestPlace, testPlace, testPrivateKey } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { gitApplication, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world({ engineFor: () => printingEngine({ kinds: ["application", "database"] }) });
});
afterAll(() => at.db.close());

describe("an application on several servers", () => {
  let uuid: string;
  let ref: ResourceRef & { readonly kind: "application" };
  let there: TestPlace;
  beforeEach(async () => {
    ({ uuid } = await at.own.applications.createPublic(gitApplication(at)));
    ref = { kind: "application", uuid };
    there = await testPlace(at.stores);
  });
  const attach = (destination_uuid = there.destination.uuid) =>
    at.own.applicationDestinations.attach(uuid, { destination_uuid });
  const listed = async () => (await at.own.applicationDestinations.list(uuid)).items;
  const deployed = async (fields: object = {}) => {
    const { deployments = [] } = await at.own.deploy({ uuid, ...fields });
    return await Promise.all(
      deployments.map(async ({ deployment_uuid }) => {
        const found = await at.stores.deployments.find(deployment_uuid ?? "");
        if (found === undefined) throw new Error("It was queued.");
        return found;
      }),
    );
  };

  test("has one destination, until another is attached", async () => {
    expect(await listed()).toMatchObject([
      { uuid: at.place.destination.uuid, is_primary: true, server_uuid: at.place.server.uuid, deployment: null },
    ]);
    expect(await attach()).toEqual({ message: "Destination attached.", uuid: there.destination.uuid });
    expect(await listed()).toMatchObject([
      { is_primary: true },
      { uuid: there.destination.uuid, is_primary: false, problem: "It was not deployed to this server yet." },
    ]);
    expect((await at.own.applications.get(uuid)).additional_servers_count).toBe(1);
    expect(await at.own.applicationDestinations.detach(uuid, there.destination.uuid)).toEqual({
      message: "Destination detached.",
    });
    expect(await listed()).toHaveLength(1);
    const { events } = await at.own.activity.list({ take: 2 });
    expect(events.map(({ type, payload }) => [type, payload.attached ?? payload.detached])).toEqual([
      ["resource.destinations_changed", there.server.name],
      ["resource.destinations_changed", there.server.name],
    ]);
  });

  test("is deployed to each of them, and to one if that is asked for", async () => {
    await attach();
    const [first, second, ...none] = await deployed();
    expect(none).toEqual([]);
    expect(first).toMatchObject({ server_id: at.place.server.id, follows: null });
    expect(second).toMatchObject({
      server_id: there.server.id,
      destination_id: there.destination.id,
      follows: first?.uuid,
    });
    expect((await listed()).map(({ deployment }) => deployment?.uuid)).toEqual([first?.uuid, second?.uuid]);
    const one = await deployed({ server_uuid: there.server.uuid, force: true });
    expect(one).toMatchObject([{ server_id: there.server.id, follows: null }]);
    const primary = await deployed({ server_uuid: at.place.server.uuid, force: true });
    expect(primary).toMatchObject([{ server_id: at.place.server.id, follows: null }]);
    const other = await testPlace(at.stores);
    await expect(deployed({ server_uuid: other.server.uuid })).rejects.toMatchObject({
      code: "resource.not_found",
      message: expect.stringContaining("is not deployed to this server"),
    });
  });

  test("is restarted on each, and its preview is deployed to the primary one alone", async () => {
    await attach();
    const { deployment_uuid } = await at.own.lifecycle.restart(ref);
    const first = await at.stores.deployments.find(deployment_uuid ?? "");
    expect(first?.server_id).toBe(at.place.server.id);
    expect((await listed()).at(-1)?.deployment).toMatchObject({ follows: deployment_uuid, status: "queued" });
    await at.own.applications.update(uuid, { is_preview_deployments_enabled: true });
    expect(await deployed({ pull_request_id: 7 })).toMatchObject([{ server_id: at.place.server.id }]);
  });

  test.each([
    ["Destination is already the primary destination.", () => at.place.destination.uuid],
    ["Destination is already attached.", () => there.destination.uuid],
  ])("is refused for a destination that it has: %s", async (message, destination) => {
    await attach();
    await expect(attach(await destination())).rejects.toMatchObject({ code: "destination.refused", message });
    expect(await listed()).toHaveLength(2);
  });

  test("is refused for another destination on its primary server", async () => {
    const other = await at.own.destinations.create(at.place.server.uuid, { network: "other" });
    await expect(attach(other.uuid)).rejects.toMatchObject({
      fields: { destination_uuid: [expect.stringMatching("^Destination is on the primary server ")] },
    });
    await at.own.destinations.delete(other.uuid);
  });

  test("keeps its primary one, and detaches only what is attached", async () => {
    const detach = (destination: string) => at.own.applicationDestinations.detach(uuid, destination);
    await expect(detach(at.place.destination.uuid)).rejects.toMatchObject({
      code: "destination.refused",
      message: "Cannot remove the primary destination.",
    });
    await expect(detach(there.destination.uuid)).rejects.toMatchObject({ code: "resource.not_found" });
  });

  test("ends the deployments to a server that it is detached from", async () => {
    await attach();
    const [first, second] = await deployed();
    await at.own.applicationDestinations.detach(uuid, there.destination.uuid);
    const statusOf = async (one: string | undefined) => (await at.stores.deployments.find(one ?? ""))?.status;
    expect([await statusOf(first?.uuid), await statusOf(second?.uuid)]).toEqual(["queued", "cancelled-by-user"]);
  });

  test("is not moved, and stores no data", async () => {
    await attach();
    const other = await testPlace(at.stores);
    await expect(at.own.migrations.migrate(uuid, { destination_uuid: other.destination.uuid })).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("several servers"),
    });
    const volume = { type: "persistent", name: "data", mount_path: "/data" } as const;
    await expect(at.own.storages.create(ref, volume)).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("cannot share its data"),
    });
    await at.own.storages.create(ref, { type: "file", mount_path: "/etc/app.conf", content: "a = 1" });
    await expect(at.own.applications.update(uuid, { custom_internal_name: "shop" })).rejects.toMatchObject({
      code: "resource.state",
    });
  });

  test("is not attached with data, or without a database that it could reach from there", async () => {
    await at.own.storages.create(ref, { type: "persistent", name: "data", mount_path: "/data" });
    await expect(attach()).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining("stores data in /data"),
    });
    ({ uuid } = await at.own.applications.createPublic(gitApplication(at)));
    const db = await at.own.databases.create("postgresql", { ...at.where, name: `db ${uuid}` });
    await at.own.attachments.attach(db.uuid, { resource_uuid: uuid });
    await expect(attach()).rejects.toMatchObject({
      code: "resource.state",
      message: expect.stringContaining(`db ${uuid}`),
    });
    expect(await listed()).toHaveLength(1);
    await at.own.databases.update(db.uuid, { is_public: true, public_port: 24_100 });
    await attach();
  });

  test("keeps a server from being deleted without force, which detaches it", async () => {
    // Only a server that Berth signs in to can be deleted.
    const { id: private_key_id } = await testPrivateKey(at.stores);
    await at.stores.servers.update(there.server.uuid, { private_key_id });
    const ofOthers = { engine: "docker" as const };
    await at.db.database.kysely.updateTable("server").set(ofOthers).where("id", "=", there.server.id).execute();
    await attach();
    await expect(at.own.servers.delete(there.server.uuid, {})).rejects.toMatchObject({ code: "resource.in_use" });
    await expect(at.own.destinations.delete(there.destination.uuid)).rejects.toMatchObject({
      code: "destination.in_use",
    });
    await at.own.servers.delete(there.server.uuid, { force: true });
    expect(await listed()).toHaveLength(1);
    expect((await at.stores.applications.find(uuid))?.removing_at).toBeNull();
  });
});
