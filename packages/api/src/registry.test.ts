import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const LOGIN = { username: "me", password: "hush-hush" };
const added = async (address: string) => {
  const { status, json } = await api.ask("POST", "/registries", { body: { address, ...LOGIN } });
  expect(status).toBe(201);
  return json.uuid as string;
};

describe("registries", () => {
  test("are added, answered, changed and deleted", async () => {
    const uuid = await added("https://GHCR.io/team");
    const path = `/registries/${uuid}`;
    const { json } = await api.ask("GET", path);
    expect(json).toEqual({
      ...{ uuid, team_id: api.place.server.team_id, name: "ghcr.io", description: null, address: "ghcr.io", ...LOGIN },
      ...{ created_at: expect.any(String), updated_at: expect.any(String) },
    });
    const changed = await api.ask("PATCH", path, { body: { password: "newer", name: "GitHub" } });
    expect([changed.status, changed.json]).toEqual([200, { uuid }]);
    expect((await api.ask("GET", path)).json).toMatchObject({ name: "GitHub", password: "newer", username: "me" });
    expect((await api.ask("GET", "/registries")).json).toHaveLength(1);
    expect(await api.stores.registries.logins()).toEqual([{ address: "ghcr.io", username: "me", password: "newer" }]);
    const deleted = await api.ask("DELETE", path);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Registry deleted." }]);
    const gone = await api.ask("GET", path);
    expect([gone.status, gone.json.message]).toEqual([404, "Registry not found."]);
  });

  test("hide their passwords without read:sensitive, and in events", async () => {
    const uuid = await added("registry.example.com:5000");
    const token = await api.tokenWith("read", "write");
    for (const path of [`/registries/${uuid}`, "/registries"]) {
      const { status, text } = await api.ask("GET", path, { token });
      expect([status, text.includes("registry.example.com:5000"), text.includes("hush-hush")]).toEqual([
        200,
        true,
        false,
      ]);
    }
    expect(JSON.stringify(await api.stores.events.list({}))).not.toContain("hush-hush");
  });

  test("are one for each address", async () => {
    await added("docker.io");
    const again = await api.ask("POST", "/registries", { body: { address: "index.docker.io", ...LOGIN } });
    expect([again.status, again.json.code, Object.keys(again.json.errors)]).toEqual([
      409,
      "resource.already_exists",
      ["address"],
    ]);
    const other = await added("quay.io");
    const moved = await api.ask("PATCH", `/registries/${other}`, { body: { address: "docker.io" } });
    expect(moved.status).toBe(409);
    expect((await api.ask("GET", `/registries/${other}`)).json.address).toBe("quay.io");
  });

  test.each([
    [{ address: "team/app" }, "address"],
    [{ address: "ghcr.io", username: "a:b" }, "username"],
    [{ address: "ghcr.io", password: "a\nb" }, "password"],
    [{ address: "ghcr.io", password: "" }, "password"],
  ])("%j is refused by its field", async (body, field) => {
    const { status, json } = await api.ask("POST", "/registries", { body: { ...LOGIN, ...body } });
    expect([status, Object.keys(json.errors)]).toEqual([422, [field]]);
  });
});
