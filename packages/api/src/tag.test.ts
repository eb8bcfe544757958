import { RESOURCE_KINDS, type ResourceKind } from "@berth/core/resource";
import { testResource } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const tag = (name: string) => ({
  uuid: expect.any(String),
  name,
  created_at: expect.any(String),
  updated_at: expect.any(String),
});

// Its keys are the kinds.
describe.each(Object.keys(RESOURCE_KINDS) as ResourceKind[])("tags of a resource of the kind %s", (kind) => {
  test("are added, listed and removed", async () => {
    const { uuid } = await testResource(api.stores, kind, api.place);
    const path = `/${RESOURCE_KINDS[kind].plural}/${uuid}/tags`;
    const added = await api.ask("POST", path, { body: { tag_names: ["<b>Web</b>", "blue"] } });
    expect([added.status, added.json]).toEqual([201, [tag("blue"), tag("web")]]);
    const more = await api.ask("POST", path, { body: { tag_name: "APP" } });
    expect(more.json).toEqual([tag("app"), ...added.json]);
    const listed = await api.ask("GET", `${path}?take=1`);
    expect([listed.json, listed.headers["x-total-count"]]).toEqual([[more.json[0]], "3"]);
    expect((await api.ask("GET", "/tags")).json).toEqual(more.json);
    for (const { uuid: tagUuid } of more.json) {
      const removed = await api.ask("DELETE", `${path}/${tagUuid}`);
      expect([removed.status, removed.json]).toEqual([200, { message: "Tag removed." }]);
    }
    expect([(await api.ask("GET", path)).json, (await api.ask("GET", "/tags")).json]).toEqual([[], []]);
    const again = await api.ask("DELETE", `${path}/${more.json[0].uuid}`);
    expect([again.status, again.json.message]).toEqual([404, "Tag not found."]);
  });

  test("are refused when they are none", async () => {
    const { uuid } = await testResource(api.stores, kind, api.place);
    const path = `/${RESOURCE_KINDS[kind].plural}/${uuid}/tags`;
    for (const [body, errors] of [
      [{ tag_name: "x" }, { tag_name: ["At least 2 characters."] }],
      [{ tag_name: "blue", tag_names: ["web"] }, { tag_name: ["Give either tag_name or tag_names."] }],
      [{ tag_names: ["blue", "a,b"] }, { "tag_names.1": [expect.stringContaining("commas")] }],
      [{ tag_name: "blue", name: "blue" }, { name: ["This field is not allowed."] }],
    ]) {
      const { status, json } = await api.ask("POST", path, { body });
      expect([status, json.errors]).toEqual([422, errors]);
    }
    expect((await api.ask("GET", path)).json).toEqual([]);
  });
});

test("[S65] a tag finds applications, and deploys them together", async () => {
  const [one, two] = [await createdApplication(api, { name: "One" }), await createdApplication(api, { name: "Two" })];
  for (const uuid of [one, two]) {
    await api.ask("POST", `/applications/${uuid}/tags`, { body: { tag_name: "Release-1" } });
  }
  await createdApplication(api, { name: "Three" });
  const { json, headers } = await api.ask("GET", "/applications?tag=release-1&take=1");
  expect([json.map(({ uuid }: { uuid: string }) => uuid), headers["x-total-count"]]).toEqual([[one], "2"]);
  const queued = await api.ask("POST", "/deploy?tag=release-1");
  expect(queued.json.details.map(({ resource_uuid }: { resource_uuid: string }) => resource_uuid)).toEqual([one, two]);
  expect((await api.ask("GET", "/applications?tag=release-1", { token: api.otherTeam.token })).json).toEqual([]);
});
