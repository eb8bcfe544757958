import { testKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const create = async (fields: object = {}) => {
  const body = { private_key: testKey(testUuid()), ...fields };
  const { status, json } = await api.ask("POST", "/security/keys", { body });
  expect([status, Object.keys(json)]).toEqual([201, ["uuid"]]);
  return { uuid: json.uuid as string, ...body };
};

describe("private keys", () => {
  test("are created, listed, read, changed and deleted", async () => {
    const { uuid, private_key } = await create({ name: "web" });
    const read = await api.ask("GET", `/security/keys/${uuid}`);
    expect(read.json).toMatchObject({ uuid, name: "web", private_key });
    const list = await api.ask("GET", "/security/keys");
    expect([list.status, list.headers["x-total-count"]]).toEqual([200, "1"]);
    expect(list.json).toEqual([read.json]);
    const body = { name: "api", private_key };
    const changed = await api.ask("PATCH", `/security/keys/${uuid}`, { body });
    expect([changed.status, changed.json]).toEqual([201, { uuid }]);
    const deleted = await api.ask("DELETE", `/security/keys/${uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Private Key deleted." }]);
    const gone = await api.ask("GET", `/security/keys/${uuid}`);
    expect([gone.status, gone.json.message]).toEqual([404, "Private Key not found."]);
  });

  test("[S25] are described with basic authentication and hide what is secret from who may not read it", async () => {
    const { uuid } = await create({
      is_http_basic_auth_enabled: true,
      http_basic_auth_username: "robot",
      http_basic_auth_password: "hidden",
    });
    const open = await api.ask("GET", `/security/keys/${uuid}`);
    expect(open.json).toMatchObject({ is_http_basic_auth_enabled: true, http_basic_auth_password: "hidden" });
    const token = await api.tokenWith("read");
    for (const path of ["/security/keys", `/security/keys/${uuid}`]) {
      const { status, json, text } = await api.ask("GET", path, { token });
      const [key] = [json].flat();
      expect([status, key.http_basic_auth_username]).toEqual([200, "robot"]);
      expect(Object.keys(key)).not.toContain("private_key");
      expect(Object.keys(key)).not.toContain("http_basic_auth_password");
      expect(text).not.toMatch(/hidden|BEGIN/);
    }
  });

  test("are refused with the texts that clients know", async () => {
    const { private_key, uuid } = await create();
    const wrong = await api.ask("POST", "/security/keys", { body: { private_key: "no key" } });
    expect([wrong.status, wrong.json.errors.private_key[0]]).toEqual([422, "Invalid private key."]);
    const again = await api.ask("POST", "/security/keys", { body: { private_key } });
    expect([again.status, again.json.errors]).toEqual([422, { private_key: ["Private key already exists."] }]);
    const without = await api.ask("PATCH", `/security/keys/${uuid}`, { body: { name: "x" } });
    expect([without.status, without.json.errors]).toEqual([422, { private_key: ["This field is required."] }]);
  });

  test("are changed by the path without a uuid too: by the one in the body, or by the key itself", async () => {
    const { uuid, private_key } = await create();
    const bySelf = await api.ask("PATCH", "/security/keys", { body: { private_key, name: "by itself" } });
    expect([bySelf.status, bySelf.json]).toEqual([201, { uuid }]);
    const next = testKey(testUuid());
    const byUuid = await api.ask("PATCH", "/security/keys", { body: { uuid, private_key: next } });
    expect([byUuid.status, byUuid.json]).toEqual([201, { uuid }]);
    const gone = await api.ask("PATCH", "/security/keys", { body: { private_key } });
    expect([gone.status, gone.json.message]).toEqual([404, "Private Key not found."]);
  });

  test("stay while something uses them, and the answer says what", async () => {
    const { uuid } = await create();
    const { server } = api.place;
    const key = await api.stores.privateKeys.find(uuid);
    const { kysely } = api.db.database;
    await kysely.updateTable("server").set({ private_key_id: key?.id }).where("id", "=", server.id).execute();
    const { status, json } = await api.ask("DELETE", `/security/keys/${uuid}`);
    expect([status, json]).toEqual([
      422,
      {
        // Clients of the family print this text alone.
        message: `Private Key is in use and cannot be deleted. Used by server ${server.name}.`,
        code: "private_key.in_use",
        request_id: expect.any(String),
        errors: { _: ["Private Key is in use and cannot be deleted.", `Used by server ${server.name}.`] },
        details: `Used by server ${server.name}.`,
      },
    ]);
    expect((await api.ask("GET", `/security/keys/${uuid}`)).status).toBe(200);
  });
});
