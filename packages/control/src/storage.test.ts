import { isDomainError } from "@berth/core";
import type { ResourceRecord, StorageFields } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceKind, type ResourceRef } from "@berth/core/resource";
import { newStorage, STORAGES_MAX, type Storage, type StorageCreate } from "@berth/core/storage";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { printingEngine, testApplication, testPlace, testResource, testUuid } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

const volume: StorageCreate = { type: "persistent", name: "data", mount_path: "/data" };
const file: StorageCreate = { type: "file", mount_path: "/etc/app.conf", content: "key=hush-hush" };

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

/** The fields of an error. */
const problems = async (work: Promise<unknown>) => {
  const reason: unknown = await work.then(
    () => undefined,
    (error) => error,
  );
  return isDomainError(reason, "request.invalid") ? reason.fields : reason;
};
const pathOf = ({ mount_path }: Storage) => mount_path;

// Its keys are the kinds.
describe.each(Object.keys(RESOURCE_KINDS) as ResourceKind[])("[S16] storages of a resource of the kind %s", (kind) => {
  let owner: ResourceRecord;
  let ref: ResourceRef;
  beforeEach(async () => {
    owner = await testResource(at.stores, kind, at.place);
    ref = { kind, uuid: owner.uuid };
  });
  /** As the resource's definition creates one. */
  const defined = (fields: Partial<StorageFields>) =>
    at.stores.storages.insert(owner.id, testUuid(), {
      ...newStorage(volume, { resourceUuid: owner.uuid, container: null }),
      ...fields,
    });

  test("[S14] are made, listed in two parts, changed by uuid or number, and deleted once", async () => {
    const made = await at.own.storages.create(ref, volume);
    expect(made).toMatchObject({
      name: `${owner.uuid}-data`,
      mount_path: "/data",
      host_path: null,
      resource_type: kind,
      resource_id: owner.id,
      resource_uuid: owner.uuid,
      is_preview_suffix_enabled: true,
    });
    const config = await at.own.storages.create(ref, file);
    expect(config).toMatchObject({ content: "key=hush-hush", is_directory: false });
    const { items, total } = await at.own.storages.list(ref, { skip: 1 });
    expect([items, total]).toEqual([[config], 2]);
    await at.own.storages.update(ref, { uuid: made.uuid, mount_path: "srv", name: "other" });
    const changed = await at.own.storages.update(ref, { id: made.id, is_preview_suffix_enabled: false });
    expect(changed).toMatchObject({ name: "other", mount_path: "/srv", is_preview_suffix_enabled: false });
    expect(await at.own.storages.delete(ref, made.uuid)).toEqual({ message: "Storage deleted." });
    await expect(at.own.storages.delete(ref, made.uuid)).rejects.toThrow("Storage not found.");
    await expect(at.own.storages.update(ref, { id: made.id })).rejects.toThrow("Storage not found.");
  });

  test("have one name each and stay below their limit, also when they are made at the same time", async () => {
    const create = (name: string, path: string) => at.own.storages.create(ref, { ...volume, name, mount_path: path });
    const twins = ["/a", "/b", "/c", "/d"].map((path) => create("data", path));
    expect((await outcomes(twins)).filter((outcome) => outcome === "done")).toHaveLength(1);
    for (let made = 1; made < STORAGES_MAX - 1; made += 1) await defined({ name: `n${made}`, mount_path: `/n${made}` });
    const last = ["x", "y", "z"].map((name) => create(name, `/${name}`));
    expect((await outcomes(last)).filter((outcome) => outcome === "done")).toHaveLength(1);
  });

  test("are mounted one at a path, and have one name each", async () => {
    const made = await at.own.storages.create(ref, volume);
    const taken = { mount_path: ["Another storage is mounted there. Choose another path."] };
    expect(await problems(at.own.storages.create(ref, { ...file, mount_path: "data/" }))).toEqual(taken);
    const named = { name: ["Another storage has this name. Choose another one."] };
    expect(await problems(at.own.storages.create(ref, { ...volume, mount_path: "/b" }))).toEqual(named);
    const other = await at.own.storages.create(ref, { ...volume, name: "b", mount_path: "/b" });
    expect(await problems(at.own.storages.update(ref, { uuid: other.uuid, mount_path: "/data" }))).toEqual(taken);
    const name = `${owner.uuid}-data`;
    expect(await problems(at.own.storages.update(ref, { uuid: other.uuid, name }))).toEqual(named);
    expect(await at.own.storages.update(ref, { uuid: made.uuid, name, mount_path: "/data" })).toMatchObject({ name });
    expect((await at.own.storages.list(ref, {})).items.map(pathOf)).toEqual(["/data", "/b"]);
  });

  test("[S42] that their definition manages keep all but the suffix of previews", async () => {
    for (const fields of [
      { is_managed: true },
      { type: "file", name: null, content: "a", is_read_only: true },
    ] as const) {
      const { uuid } = await defined({ ...fields, mount_path: `/${Object.keys(fields).length}` });
      const before = await at.stores.storages.find(owner.id, { uuid });
      const refused = at.own.storages.update(ref, { uuid, mount_path: "/x", is_preview_suffix_enabled: false });
      await expect(refused).rejects.toMatchObject({
        code: "request.invalid",
        fields: { mount_path: [expect.stringContaining("Only is_preview_suffix_enabled")] },
        details: { read_only_fields: ["mount_path"] },
      });
      expect(Object.keys((await problems(at.own.storages.delete(ref, uuid))) ?? {})).toEqual(["_"]);
      expect(await at.stores.storages.find(owner.id, { uuid })).toEqual(before);
      const changed = await at.own.storages.update(ref, { uuid, is_preview_suffix_enabled: false });
      expect(changed.is_preview_suffix_enabled).toBe(false);
    }
  });

  test("hide the content of files from those who may not read secrets, in events too", async () => {
    const { uuid } = await at.own.storages.create(ref, file);
    const reader = at.as(owner.team_id, "read", "write").storages;
    const answers = [
      await reader.list(ref, {}),
      await reader.update(ref, { uuid, content: "hush-hush 2" }),
      await reader.create(ref, { ...file, mount_path: "/b" }),
      await at.stores.events.list({}),
    ];
    expect(JSON.stringify(answers)).not.toContain("hush-hush");
    expect((await reader.list(ref, {})).items[0]).not.toHaveProperty("content");
    expect((await at.own.storages.list(ref, {})).items[0]).toMatchObject({ content: "hush-hush 2" });
  });

  test("need the abilities read and write", async () => {
    const asked = [
      at.as(owner.team_id, "write").storages.list(ref, {}),
      at.as(owner.team_id, "read").storages.create(ref, volume),
      at.as(owner.team_id, "read").storages.update(ref, { uuid: "x" }),
      at.as(owner.team_id, "read").storages.delete(ref, "x"),
    ];
    expect(await outcomes(asked)).toEqual(
      ["read", "write", "write", "write"].map((ability) => `Missing required permissions: ${ability}`),
    );
  });

  test("[S67] of another team are not found, nor those of another resource", async () => {
    const { uuid, id } = await at.own.storages.create(ref, volume);
    const { storages } = at.otherTeam.control;
    const asked = [
      storages.list(ref, {}),
      storages.create(ref, volume),
      storages.update(ref, { uuid, name: "x" }),
      storages.delete(ref, uuid),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => `${RESOURCE_KINDS[kind].title} not found.`));
    const sibling: ResourceRef = { kind, uuid: (await testResource(at.stores, kind, at.place)).uuid };
    const ofSibling = [
      at.own.storages.update(sibling, { uuid, name: "x" }),
      at.own.storages.update(sibling, { id, name: "x" }),
      at.own.storages.delete(sibling, uuid),
    ];
    expect(await outcomes(ofSibling)).toEqual(ofSibling.map(() => "Storage not found."));
    expect((await at.own.storages.list(ref, {})).items).toMatchObject([{ uuid, name: `${owner.uuid}-data` }]);
  });

  test("come to an end", async () => {
    for (let n = 0; n < STORAGES_MAX; n++) await defined({ name: null, mount_path: `/${n}` });
    expect(Object.keys((await problems(at.own.storages.create(ref, volume))) ?? {})).toEqual(["_"]);
  });
});

describe("folders of the server", () => {
  const bind: StorageCreate = { ...volume, host_path: "/srv/data" };
  const directory: StorageCreate = { type: "file", mount_path: "/conf", is_directory: true, fs_path: "/etc" };

  test("are mounted where the release's own user reaches them by itself", async () => {
    const { uuid } = await testApplication(at.stores, at.place);
    const ref: ResourceRef = { kind: "application", uuid };
    expect(await at.own.storages.create(ref, bind)).toMatchObject({ host_path: "/srv/data" });
    expect(await at.own.storages.create(ref, directory)).toMatchObject({ fs_path: "/etc", is_directory: true });
  });

  test("of Berth's own machine are for the root team with the ability root where an engine mounts them with its own rights", async () => {
    const other = await world({ engineFor: () => printingEngine({ privileged_mounts: true }) });
    const { uuid } = await testApplication(other.stores, other.place);
    const ref: ResourceRef = { kind: "application", uuid };
    const { uuid: storage } = await other.own.storages.create(ref, { ...volume, name: "plain", mount_path: "/plain" });
    const asked = [
      other.own.storages.create(ref, bind),
      other.own.storages.create(ref, directory),
      other.own.storages.update(ref, { uuid: storage, host_path: "/" }),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Missing required permissions: root"));
    const change = { uuid: storage, host_path: "/srv" };
    const tenant = other.as(other.place.server.team_id, "root").storages;
    expect(await outcomes([tenant.update(ref, change)])).toEqual([expect.stringMatching(/^Only the root team/)]);
    expect(await other.own.storages.update(ref, { uuid: storage, host_path: null })).toMatchObject({ host_path: null });

    // Docker on Berth's own machine has another address in the records.
    await other.stores.servers.update(other.place.server.uuid, { ip: "host.docker.internal", engine: "docker" });
    expect(await outcomes([other.own.storages.create(ref, bind)])).toEqual(["Missing required permissions: root"]);

    const stores = other.db.stores(ROOT_TEAM_ID);
    const { uuid: ours } = await testApplication(stores, await testPlace(stores));
    const operator = other.as(ROOT_TEAM_ID, "root").storages;
    expect(await operator.create({ kind: "application", uuid: ours }, bind)).toMatchObject({ host_path: "/srv/data" });
    await other.db.close();
  });
});

test("options of a container that give privileges on Berth's own machine are its operator's", async () => {
  const other = await world({ engineFor: () => printingEngine({ privileged_mounts: true }) });
  const { uuid } = await testApplication(other.stores, other.place);
  const change = (options: string) => ({ custom_docker_run_options: options });
  expect(await outcomes([other.own.applications.update(uuid, change("--privileged"))])).toEqual([
    "Missing required permissions: root",
  ]);
  expect(await problems(other.own.applications.update(uuid, change("--volume=/:/host")))).toMatchObject({
    custom_docker_run_options: [expect.stringContaining("--volume is not allowed.")],
  });
  const tenant = other.as(other.place.server.team_id, "root").applications;
  expect(await outcomes([tenant.update(uuid, change("--device /dev/fuse"))])).toEqual([
    expect.stringMatching(/^Only the root team/),
  ]);
  await other.stores.servers.update(other.place.server.uuid, { ip: "host.docker.internal", engine: "docker" });
  expect(await outcomes([tenant.update(uuid, change("--device /dev/fuse"))])).toEqual([
    expect.stringMatching(/^Only the root team/),
  ]);
  await other.own.applications.update(uuid, change("--init --shm-size 1g"));
  const stores = other.db.stores(ROOT_TEAM_ID);
  const { uuid: ours } = await testApplication(stores, await testPlace(stores));
  await other.as(ROOT_TEAM_ID, "root").applications.update(ours, change("--privileged --cap-add SYS_ADMIN"));
  await other.db.close();
});

test("an application made of a compose file has the storages that it names", async () => {
  const { uuid } = await testApplication(at.stores, at.place, { settings: { build_pack: "dockercompose" } });
  const ref: ResourceRef = { kind: "application", uuid };
  expect(Object.keys((await problems(at.own.storages.create(ref, volume))) ?? {})).toEqual(["_"]);
});
