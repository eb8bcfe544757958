import { testKey, testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, gitApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

async function newKey(fields: object = {}): Promise<{ uuid: string; id: number }> {
  const made = await api.ask("POST", "/security/keys", { body: { private_key: testKey(testUuid()), ...fields } });
  const { json } = await api.ask("GET", `/security/keys/${made.json.uuid}`);
  return { uuid: json.uuid, id: json.id };
}
const wish = (private_key_uuid: string, fields: object = {}) => ({
  body: gitApplication(api, { git_repository: "git@git.example:team/hello.git", private_key_uuid, ...fields }),
});
const keyOf = async (uuid: string) => (await api.ask("GET", `/applications/${uuid}`)).json.private_key_id;

describe("POST /applications/private-deploy-key", () => {
  test("[S05] creates with the key and answers the URLs", async () => {
    const key = await newKey();
    const asked = wish(key.uuid, { domains: "https://private.example" });
    const { status, json } = await api.ask("POST", "/applications/private-deploy-key", asked);
    expect([status, json]).toEqual([201, { uuid: expect.any(String), fqdn: "https://private.example" }]);
    const application = await api.ask("GET", `/applications/${json.uuid}`);
    expect(application.json).toMatchObject({
      private_key_id: key.id,
      git_repository: "git@git.example:team/hello.git",
      build_pack: "nixpacks",
    });
    expect((await api.ask("GET", `/security/keys/${key.uuid}`)).json.is_git_related).toBe(true);
    const reader = await api.tokenWith("read");
    expect((await api.ask("GET", `/applications/${json.uuid}`, { token: reader })).json).not.toHaveProperty(
      "private_key_id",
    );
  });

  test("needs a key of the team, and creates nothing without it", async () => {
    const count = async () => (await api.ask("GET", "/applications")).json.length;
    const before = await count();
    const { private_key_uuid: _, ...body } = wish("").body as Record<string, unknown>;
    const missing = await api.ask("POST", "/applications/private-deploy-key", { body });
    expect([missing.status, missing.json.errors]).toEqual([422, { private_key_uuid: ["This field is required."] }]);
    const team = await api.ask("GET", "/teams/current", { token: api.otherTeam.token });
    const foreign = await testPrivateKey(api.db.stores(team.json.id));
    for (const uuid of ["unknown", foreign.uuid]) {
      const { status, json } = await api.ask("POST", "/applications/private-deploy-key", wish(uuid));
      expect([status, json.message]).toEqual([404, "Private Key not found."]);
    }
    expect(await count()).toBe(before);
  });

  test("[S45] takes force_domain_override, and [S44] needs an environment", async () => {
    const { uuid } = await newKey();
    const holder = await createdApplication(api, { domains: "https://taken.example" });
    const asked = wish(uuid, { domains: "https://taken.example" });
    expect((await api.ask("POST", "/applications/private-deploy-key", asked)).status).toBe(409);
    const forced = wish(uuid, { domains: "https://taken.example", force_domain_override: true });
    const { status, json } = await api.ask("POST", "/applications/private-deploy-key", forced);
    expect([status, json.overridden[0].resource_uuid]).toEqual([201, holder]);
    const { environment_name: _, ...body } = wish(uuid).body;
    const nowhere = await api.ask("POST", "/applications/private-deploy-key", { body });
    expect([nowhere.status, Object.keys(nowhere.json.errors)]).toEqual([422, ["environment_name", "environment_uuid"]]);
  });
});

describe("an application's key", () => {
  test("is changed, kept and taken away", async () => {
    const [first, second] = [await newKey(), await newKey()];
    const uuid = await createdApplication(api, { private_key_uuid: first.uuid });
    expect(await keyOf(uuid)).toBe(first.id);
    const change = async (body: object) => (await api.ask("PATCH", `/applications/${uuid}`, { body })).status;
    expect([await change({ private_key_uuid: second.uuid }), await keyOf(uuid)]).toEqual([200, second.id]);
    expect([await change({ name: "Kept" }), await keyOf(uuid)]).toEqual([200, second.id]);
    expect([await change({ private_key_uuid: "unknown", name: "Lost" }), await keyOf(uuid)]).toEqual([404, second.id]);
    expect([await change({ private_key_uuid: "" }), await keyOf(uuid)]).toEqual([200, null]);
    expect((await api.ask("GET", `/applications/${uuid}`)).json.name).toBe("Kept");
  });

  test("cannot be deleted while the application is there", async () => {
    const key = await newKey();
    const uuid = await createdApplication(api, { name: "Holder", private_key_uuid: key.uuid });
    const refused = await api.ask("DELETE", `/security/keys/${key.uuid}`);
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining("application Holder")]);
    const { id = 0 } = (await api.stores.applications.find(uuid)) ?? {};
    await api.db.system.resources.delete(id);
    expect((await api.ask("DELETE", `/security/keys/${key.uuid}`)).status).toBe(200);
  });
});
