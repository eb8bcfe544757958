import type { ResourceRecord } from "@berth/core/ports";
import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";
import { newStorage } from "@berth/core/storage";
import { testResource, testUuid } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const volume = { type: "persistent", name: "data", mount_path: "/data" };

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

let owner: ResourceRecord;
let path: string;
const ownerOf = async (kind: ResourceKind) => {
  owner = await testResource(api.stores, kind, api.place);
  path = `/${RESOURCE_KINDS[kind].plural}/${owner.uuid}/storages`;
};

/** As the resource's definition creates one. */
const defined = (fields: object = {}) =>
  api.stores.storages.insert(owner.id, testUuid(), {
    ...newStorage({ type: "persistent", name: "data", mount_path: "/data" }, { resourceUuid: "x", container: null }),
    is_managed: true,
    ...fields,
  });

const FACTS = { application: "[S16]", database: "[S16] [S55]" } as const;

describe.each(["application", "database"] as const)("storages of a resource of the kind %s", (kind) => {
  beforeEach(() => ownerOf(kind));

  test(`${FACTS[kind]} [S43] are created, listed, changed and deleted`, async () => {
    const created = await api.ask("POST", path, { body: { ...volume, host_path: null } });
    const shared = {
      id: expect.any(Number),
      uuid: expect.any(String),
      is_preview_suffix_enabled: true,
      resource_type: kind,
      resource_id: owner.id,
      resource_uuid: owner.uuid,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    };
    const persistent = {
      ...shared,
      name: `${owner.uuid}-data`,
      mount_path: "/data",
      host_path: null,
      container_id: null,
    };
    expect([created.status, created.json]).toEqual([201, persistent]);
    const file = { type: "file", mount_path: "etc/app.conf", content: "key=hush-hush\n" };
    const config = await api.ask("POST", path, { body: file });
    expect([config.status, config.json]).toEqual([
      201,
      {
        ...shared,
        fs_path: `${RESOURCE_KINDS[kind].plural}/${owner.uuid}/etc/app.conf`,
        mount_path: "/etc/app.conf",
        content: "key=hush-hush\n",
        is_directory: false,
        is_based_on_git: false,
        chown: null,
        chmod: null,
      },
    ]);
    const listed = await api.ask("GET", path);
    expect(listed.json).toEqual({ persistent_storages: [created.json], file_storages: [config.json] });
    expect(listed.headers["x-total-count"]).toBe("2");
    const second = await api.ask("GET", `${path}?skip=1&take=1`);
    expect(second.json).toEqual({ persistent_storages: [], file_storages: [config.json] });
    const deleted = await api.ask("DELETE", `${path}/${created.json.uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Storage deleted." }]);
    const again = await api.ask("DELETE", `${path}/${created.json.uuid}`);
    expect([again.status, again.json.message]).toEqual([404, "Storage not found."]);
  });

  test("[S14] [S15] [S38] are chosen by uuid, changed in each of the five fields, and answered", async () => {
    const { json: created } = await api.ask("POST", path, { body: volume });
    const fields = { name: "other", mount_path: "/srv", host_path: "/mnt/disk", is_preview_suffix_enabled: false };
    const changed = await api.ask("PATCH", path, { body: { uuid: created.uuid, type: "persistent", ...fields } });
    expect([changed.status, changed.json]).toEqual([200, { ...created, ...fields, updated_at: expect.any(String) }]);
    const byNumber = await api.ask("PATCH", path, { body: { id: created.id, host_path: null } });
    expect(byNumber.json).toMatchObject({ uuid: created.uuid, ...fields, host_path: null });
    const { json: config } = await api.ask("POST", path, { body: { type: "file", mount_path: "/a", content: "1" } });
    const emptied = await api.ask("PATCH", path, { body: { uuid: config.uuid, content: "" } });
    expect([emptied.status, emptied.json.content]).toEqual([200, ""]);
  });

  test("[S41] refuse a change of anything else, and change nothing then", async () => {
    const { json: created } = await api.ask("POST", path, { body: volume });
    for (const [body, errors] of [
      [{ mount_path: "/x", is_directory: true }, { is_directory: ["This field is not allowed."] }],
      [{ mount_path: "/x", resource_uuid: "x" }, { resource_uuid: ["This field is not allowed."] }],
      [{ mount_path: "/x", owner_uuid: "x" }, { owner_uuid: ["This field is not allowed."] }],
      [{ mount_path: "/x", content: "x" }, { content: ["Only files have this field."] }],
      [{ mount_path: "/x", type: "file" }, { type: ["Must be persistent, as the storage is."] }],
      [{ mount_path: "/../x" }, { mount_path: ["Must not contain .. as a part."] }],
    ]) {
      const { status, json } = await api.ask("PATCH", path, { body: { uuid: created.uuid, ...body } });
      expect([status, json.message, json.errors]).toEqual([422, "Validation failed.", errors]);
    }
    const nameless = await api.ask("PATCH", path, { body: { mount_path: "/x" } });
    expect([nameless.status, nameless.json.errors]).toEqual([422, { uuid: ["This field is required."] }]);
    expect((await api.ask("GET", path)).json.persistent_storages).toEqual([created]);
  });

  test("[S42] that a definition manages change in the suffix of previews only", async () => {
    const { uuid } = await defined();
    const before = await api.ask("GET", path);
    const body = { uuid, is_preview_suffix_enabled: false };
    const refused = await api.ask("PATCH", path, { body: { ...body, name: "x", mount_path: "/x" } });
    expect([refused.status, refused.json]).toMatchObject([
      422,
      { message: "Validation failed.", code: "request.invalid", read_only_fields: ["name", "mount_path"] },
    ]);
    expect(Object.keys(refused.json.errors)).toEqual(["name", "mount_path"]);
    const kept = await api.ask("DELETE", `${path}/${uuid}`);
    expect([kept.status, Object.keys(kept.json.errors)]).toEqual([422, ["_"]]);
    expect((await api.ask("GET", path)).json).toEqual(before.json);
    const changed = await api.ask("PATCH", path, { body });
    expect([changed.status, changed.json.is_preview_suffix_enabled]).toEqual([200, false]);
  });

  test("hide the content of files without read:sensitive", async () => {
    await api.ask("POST", path, { body: { type: "file", mount_path: "/a", content: "hush-hush" } });
    const token = await api.tokenWith("read", "write");
    const listed = await api.ask("GET", path, { token });
    expect([listed.status, listed.text.includes("hush-hush")]).toEqual([200, false]);
    expect(listed.json.file_storages[0]).not.toHaveProperty("content");
    const { uuid } = listed.json.file_storages[0];
    const changed = await api.ask("PATCH", path, { token, body: { uuid, content: "hush-hush" } });
    expect([changed.status, changed.text.includes("hush-hush")]).toEqual([200, false]);
  });

  test("say what is wrong with what is sent", async () => {
    const { status, json } = await api.ask("POST", path, { body: { type: "persistent", mount_path: "/a:ro", id: 7 } });
    expect([status, Object.keys(json.errors).sort()]).toEqual([422, ["id", "mount_path"]]);
    const nameless = await api.ask("POST", path, { body: { type: "persistent", mount_path: "/a" } });
    expect(nameless.json.errors).toEqual({ name: ["This field is required."] });
    await api.ask("POST", path, { body: volume });
    const taken = await api.ask("POST", path, { body: { ...volume, name: "b" } });
    expect([taken.status, Object.keys(taken.json.errors)]).toEqual([422, ["mount_path"]]);
  });

  test("are mounted once at a path, also when several ask at the same time", async () => {
    const asked = ["a", "b", "c", "d"].map((name) => api.ask("POST", path, { body: { ...volume, name } }));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 422, 422, 422]);
  });
});

describe("storages of a service", () => {
  let container: string;
  beforeEach(async () => {
    await ownerOf("service");
    const [web] = await api.stores.services.containers([owner.id]);
    container = web?.uuid ?? "";
  });

  test("[S16] [S56] are created for one of its containers, listed, changed and deleted", async () => {
    const created = await api.ask("POST", path, { body: { ...volume, resource_uuid: container } });
    expect([created.status, created.json]).toMatchObject([
      201,
      { name: `${container}-data`, mount_path: "/data", resource_uuid: container, resource_type: "application" },
    ]);
    const file = { type: "file", mount_path: "/etc/app.conf", content: "a=1", resource_uuid: container };
    const config = await api.ask("POST", path, { body: file });
    expect(config.json).toMatchObject({ content: "a=1", fs_path: `services/${container}/etc/app.conf` });
    const changed = await api.ask("PATCH", path, { body: { uuid: created.json.uuid, mount_path: "/srv" } });
    expect([changed.status, changed.json.mount_path, changed.json.resource_uuid]).toEqual([200, "/srv", container]);
    const { json } = await api.ask("GET", path);
    expect(json).toEqual({ persistent_storages: [changed.json], file_storages: [config.json] });
    const deleted = await api.ask("DELETE", `${path}/${config.json.uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Storage deleted." }]);
  });

  test("[S56] are refused without a container, and for another service's", async () => {
    const nameless = await api.ask("POST", path, { body: volume });
    expect([nameless.status, nameless.json.errors]).toEqual([422, { resource_uuid: ["This field is required."] }]);
    await ownerOf("service");
    for (const resource_uuid of ["nothing", container, owner.uuid]) {
      const unknown = await api.ask("POST", path, { body: { ...volume, resource_uuid } });
      expect([unknown.status, unknown.json.message]).toEqual([404, "Service resource not found."]);
    }
    expect((await api.ask("GET", path)).json.persistent_storages).toEqual([]);
  });

  test("[S42] [S56] that its definition names change in the suffix of previews only", async () => {
    const { uuid } = await defined({ container: "web" });
    const { json } = await api.ask("GET", path);
    expect(json).toMatchObject({ persistent_storages: [{ uuid, resource_uuid: container }], file_storages: [] });
    const changed = await api.ask("PATCH", path, { body: { uuid, is_preview_suffix_enabled: false } });
    expect([changed.status, changed.json.is_preview_suffix_enabled]).toEqual([200, false]);
    const refused = await api.ask("PATCH", path, { body: { uuid, host_path: "/srv" } });
    expect([refused.status, refused.json.read_only_fields]).toEqual([422, ["host_path"]]);
    expect((await api.ask("DELETE", `${path}/${uuid}`)).status).toBe(422);
  });
});

test("[S37] an application's storages are listed as persistent ones and files, empty at first", async () => {
  await ownerOf("application");
  const { status, json } = await api.ask("GET", path);
  expect([status, json]).toEqual([200, { persistent_storages: [], file_storages: [] }]);
});
