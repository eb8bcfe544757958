import { testKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

const made = async (fields: object = {}) => {
  const private_key = testKey(testUuid());
  const { uuid } = await at.own.privateKeys.create({ private_key, ...fields });
  return { uuid, private_key };
};
const reader = () => at.as(at.place.server.team_id, "read");

describe("a private key", () => {
  test("[S25] carries basic authentication, whose password only who may read secrets sees", async () => {
    const login = {
      is_http_basic_auth_enabled: true,
      http_basic_auth_username: "robot",
      http_basic_auth_password: "hidden",
    };
    const { uuid, private_key } = await made(login);
    expect(await at.own.privateKeys.get(uuid)).toMatchObject({ ...login, private_key });
    for (const answer of [await reader().privateKeys.get(uuid), ...(await reader().privateKeys.list({})).items]) {
      expect(answer).not.toHaveProperty("private_key");
      expect(answer).not.toHaveProperty("http_basic_auth_password");
      expect(JSON.stringify(answer)).not.toContain("hidden");
    }
    expect(await reader().privateKeys.get(uuid)).toMatchObject({
      is_http_basic_auth_enabled: true,
      http_basic_auth_username: "robot",
    });
  });

  test("has a name when it was given none, and no other blank", async () => {
    const { uuid } = await made();
    expect(await at.own.privateKeys.get(uuid)).toMatchObject({
      name: expect.stringMatching(/^ed25519-key-\w{8}$/),
      description: null,
      is_git_related: false,
      is_http_basic_auth_enabled: false,
      http_basic_auth_username: null,
      http_basic_auth_password: null,
      public_key: expect.stringMatching(/^ssh-ed25519 \S+$/),
      fingerprint: expect.stringMatching(/^[A-Za-z0-9+/]{43}$/),
      team_id: at.place.server.team_id,
    });
  });

  test("may come in base64 and is kept decoded", async () => {
    const text = testKey(testUuid());
    const { uuid } = await at.own.privateKeys.create({ private_key: Buffer.from(text).toString("base64") });
    expect((await at.own.privateKeys.get(uuid)).private_key).toBe(text);
  });

  test("belongs to one team of the instance, whoever else has its text", async () => {
    const private_key = testKey(testUuid());
    const create = (team: typeof at.own) => team.privateKeys.create({ private_key });
    const both = await outcomes([create(at.own), create(at.otherTeam.control)]);
    expect(both.toSorted()).toEqual(["Validation failed.", "done"]);
    await expect(create(at.own)).rejects.toMatchObject({
      code: "request.invalid",
      fields: { private_key: ["Private key already exists."] },
    });
  });

  test("is refused when it is none, and nothing is stored", async () => {
    const { total } = await at.own.privateKeys.list({});
    for (const private_key of ["no key", testKey("").replace("OPENSSH", "ENCRYPTED")]) {
      await expect(at.own.privateKeys.create({ private_key })).rejects.toMatchObject({
        code: "request.invalid",
        fields: { private_key: ["Invalid private key.", expect.any(String)] },
      });
    }
    expect((await at.own.privateKeys.list({})).total).toBe(total);
  });

  test("cannot have basic authentication on without a name and a password", async () => {
    const create = at.own.privateKeys.create({ private_key: testKey(testUuid()), is_http_basic_auth_enabled: true });
    await expect(create).rejects.toMatchObject({
      code: "request.invalid",
      fields: { http_basic_auth_username: [expect.any(String)], http_basic_auth_password: [expect.any(String)] },
    });
    const { uuid, private_key } = await made({ http_basic_auth_username: "robot" });
    const on = { private_key, is_http_basic_auth_enabled: true };
    await expect(at.own.privateKeys.update(uuid, on)).rejects.toMatchObject({
      fields: { http_basic_auth_password: [expect.any(String)] },
    });
    await at.own.privateKeys.update(uuid, { ...on, http_basic_auth_password: "now" });
    const clearing = at.own.privateKeys.update(uuid, { private_key, http_basic_auth_password: null });
    await expect(clearing).rejects.toMatchObject({ code: "request.invalid" });
  });

  test("keeps what a change leaves out", async () => {
    const { uuid, private_key } = await made({
      name: "first",
      description: "old",
      http_basic_auth_username: "robot",
      http_basic_auth_password: "hidden",
    });
    const before = await at.own.privateKeys.get(uuid);
    await at.own.privateKeys.update(uuid, { private_key, name: null, description: "new" });
    const after = await at.own.privateKeys.get(uuid);
    expect(after).toEqual({ ...before, description: "new", updated_at: after.updated_at });
  });

  test("is replaced by another, which then is the one that is known", async () => {
    const { uuid, private_key } = await made();
    const next = testKey(testUuid());
    await at.own.privateKeys.update(uuid, { private_key: next });
    expect((await at.own.privateKeys.get(uuid)).private_key).toBe(next);
    await at.own.privateKeys.create({ private_key });
    await expect(at.own.privateKeys.update(uuid, { private_key })).rejects.toMatchObject({
      fields: { private_key: ["Private key already exists."] },
    });
  });

  test("is found by itself where a change names no other", async () => {
    const { uuid, private_key } = await made();
    expect(await at.own.privateKeys.update(undefined, { private_key, name: "renamed" })).toEqual({ uuid });
    expect((await at.own.privateKeys.get(uuid)).name).toBe("renamed");
    const unknown = at.own.privateKeys.update(undefined, { private_key: testKey(testUuid()) });
    await expect(unknown).rejects.toThrow("Private Key not found.");
    const foreign = at.otherTeam.control.privateKeys.update(undefined, { private_key });
    await expect(foreign).rejects.toThrow("Private Key not found.");
  });

  test("emits events without a secret", async () => {
    const { uuid, private_key } = await made({ name: "told", http_basic_auth_password: "hidden" });
    await at.own.privateKeys.update(uuid, { private_key, name: "told again" });
    await at.own.privateKeys.delete(uuid);
    const events = (await at.stores.events.list({})).filter((event) => event.resource_uuid === uuid);
    expect(events.map(({ type, payload }) => [type, payload])).toEqual([
      ["private_key.created", { name: "told" }],
      ["private_key.updated", { name: "told again" }],
      ["private_key.deleted", { name: "told again" }],
    ]);
  });

  test("needs the ability to write for every change, and to read for every look", async () => {
    const { uuid, private_key } = await made();
    const { privateKeys } = reader();
    const refused = [
      privateKeys.create({ private_key: testKey(testUuid()) }),
      privateKeys.update(uuid, { private_key }),
      privateKeys.delete(uuid),
    ];
    expect(await outcomes(refused)).toEqual(refused.map(() => "Missing required permissions: write"));
    const writer = at.as(at.place.server.team_id, "write").privateKeys;
    expect(await outcomes([writer.get(uuid), writer.list({})])).toEqual(
      Array(2).fill("Missing required permissions: read"),
    );
  });
});
