import { testGitHost, testKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gitApplication, type Served, served } from "./berth.fixture.ts";

const host = testGitHost();
let api: Served;
beforeAll(async () => {
  api = await served({ gitHost: host });
});
afterAll(() => api.close());

const patch = (path: string, body: object) => api.ask("PATCH", path, { body });
const get = async (path: string) => (await api.ask("GET", path)).json;
async function made(path: string, body: object): Promise<string> {
  const { status, json } = await api.ask("POST", path, { body });
  if (status !== 201) throw new Error(`It was not made: ${JSON.stringify(json)}`);
  return json.uuid;
}

describe("the password of a registry", () => {
  const LOGIN = { username: "me", password: "hush-hush" };
  const logins = () => api.stores.registries.logins();

  test("is removed with the address, and the answer says so", async () => {
    const path = `/registries/${await made("/registries", { address: "ghcr.io", ...LOGIN })}`;
    const { status, json } = await patch(path, { address: "evil.example" });
    expect([status, json.message]).toEqual([200, expect.stringContaining("Send password for evil.example")]);
    expect([await logins(), (await get(path)).password]).toEqual([[], undefined]);
    // The login does not come back together with the old address.
    await patch(path, { address: "ghcr.io" });
    expect(await logins()).toEqual([]);
    expect((await patch(path, { password: "newer" })).json).toEqual({ uuid: expect.any(String) });
    expect(await logins()).toMatchObject([{ address: "ghcr.io", password: "newer" }]);
    await api.ask("DELETE", path);
  });

  test("stays with its address, and goes along where it is sent", async () => {
    const path = `/registries/${await made("/registries", { address: "ghcr.io", ...LOGIN })}`;
    expect((await patch(path, { address: "https://GHCR.io/team", name: "x" })).json.message).toBeUndefined();
    expect((await get(path)).password).toBe("hush-hush");
    expect((await patch(path, { address: "quay.io", password: "for quay" })).json.message).toBeUndefined();
    expect(await logins()).toMatchObject([{ address: "quay.io", password: "for quay" }]);
    await api.ask("DELETE", path);
  });
});

describe("the key and secret of an S3 storage", () => {
  const LOGIN = { key: "AKEY", secret: "hush-hush" };
  const bucket = { name: "Far", endpoint: "https://s3.example", bucket: "berth", region: "eu-central-1", ...LOGIN };

  test.each([
    { endpoint: "https://evil.example" },
    { endpoint: "https://s3.example:8443" },
    { endpoint: "https://evil.example", key: "AKEY" },
    { endpoint: "https://evil.example", secret: "hush-hush" },
  ])("are removed by %s, and the answer says so", async (change) => {
    const path = `/s3-storages/${await made("/s3-storages", bucket)}`;
    const { status, json } = await patch(path, change);
    expect([status, json.message]).toEqual([200, expect.stringContaining("Send key and secret for https://")]);
    const tried = await api.ask("POST", `${path}/validate`);
    expect(tried.json).toEqual({ valid: false, message: expect.stringContaining("Send key and secret for") });
    await patch(path, { endpoint: bucket.endpoint });
    const now = await get(path);
    expect([now.key, now.secret]).toEqual([undefined, undefined]);
    expect((await patch(path, LOGIN)).json.message).toBeUndefined();
    expect(await get(path)).toMatchObject(LOGIN);
  });

  test("stay with their host, and go along where they are sent", async () => {
    const path = `/s3-storages/${await made("/s3-storages", bucket)}`;
    expect((await patch(path, { endpoint: "https://s3.example/path" })).json.message).toBeUndefined();
    expect(await get(path)).toMatchObject(LOGIN);
    const moved = { endpoint: "https://other.example", key: "B", secret: "other" };
    expect((await patch(path, moved)).json.message).toBeUndefined();
    expect(await get(path)).toMatchObject(moved);
  });

  test("are not sent in the clear, but to loopback", async () => {
    const create = (endpoint: string) => api.ask("POST", "/s3-storages", { body: { ...bucket, endpoint } });
    const { status, json } = await create("http://s3.example");
    expect([status, json.errors.endpoint[0]]).toEqual([422, expect.stringContaining("Must begin with https://")]);
    expect((await create("http://127.0.0.1:9000")).status).toBe(201);
  });
});

describe("the name and password of a private key", () => {
  const LOGIN = {
    is_http_basic_auth_enabled: true,
    http_basic_auth_username: "robot",
    http_basic_auth_password: "hush-hush",
  };
  const application = (private_key_uuid: string, git_repository: string) =>
    api.ask("POST", "/applications/private-deploy-key", {
      body: gitApplication(api, { private_key_uuid, git_repository }),
    });

  test("are for the host of the first repository, until the password is sent again", async () => {
    const private_key = testKey(testUuid());
    const uuid = await made("/security/keys", { private_key, ...LOGIN });
    const first = await application(uuid, "https://git.example/team/a.git");
    expect(first.status).toBe(201);
    expect((await application(uuid, "https://git.example/team/b.git")).status).toBe(201);
    for (const repository of ["https://evil.example/team/a.git", "https://git.example:8443/team/a.git"]) {
      const { status, json } = await application(uuid, repository);
      expect([status, json.errors.git_repository[0]]).toEqual([422, expect.stringContaining("https://git.example.")]);
    }
    const path = `/applications/${first.json.uuid}`;
    expect((await patch(path, { git_repository: "https://evil.example/team/a.git" })).status).toBe(422);
    expect((await get(path)).git_repository).toBe("https://git.example/team/a.git");
    // Over ssh no secret is sent, so the host may change.
    expect((await patch(path, { git_repository: "git@other.example:team/a.git" })).status).toBe(200);
    expect((await patch(`/security/keys/${uuid}`, { private_key, name: "renamed" })).status).toBe(201);
    expect((await patch(path, { git_repository: "https://other.example/team/a.git" })).status).toBe(422);
    await patch(`/security/keys/${uuid}`, { private_key, http_basic_auth_password: "hush-hush" });
    expect((await patch(path, { git_repository: "https://other.example/team/a.git" })).status).toBe(200);
  });
});

test("the password of a key goes to one host, also when two are named at the same moment", async () => {
  for (let round = 0; round < 5; round += 1) {
    const uuid = await made("/security/keys", {
      private_key: testKey(testUuid()),
      is_http_basic_auth_enabled: true,
      http_basic_auth_username: "robot",
      http_basic_auth_password: "hush-hush",
    });
    const answers = await Promise.all(
      ["https://one.example/a.git", "https://two.example/a.git", "https://three.example/a.git"].map((git_repository) =>
        api.ask("POST", "/applications/private-deploy-key", {
          body: gitApplication(api, { private_key_uuid: uuid, git_repository }),
        }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
  }
});

describe("the key of a GitHub app", () => {
  const created = (private_key_uuid: string, fields: object = {}) =>
    api.ask("POST", "/github-apps", {
      body: {
        name: "Berth",
        html_url: "https://github.test",
        api_url: "https://api.github.test",
        app_id: 4711,
        installation_id: 815,
        client_id: "Iv1.0123456789abcdef",
        client_secret: "client s3cret",
        webhook_secret: "webhook s3cret",
        private_key_uuid,
        ...fields,
      },
    });

  test("signs in at the host of its first app alone, until the key is sent again", async () => {
    const private_key = testKey(testUuid());
    const uuid = await made("/security/keys", { private_key });
    const app = await created(uuid);
    expect(app.status).toBe(201);
    for (const change of [{ api_url: "https://api.evil.test" }, { html_url: "https://evil.test" }]) {
      const [field = ""] = Object.keys(change);
      for (const answer of [await created(uuid, change), await patch(`/github-apps/${app.json.id}`, change)]) {
        expect([answer.status, answer.json.errors[field]?.[0]]).toEqual([
          422,
          expect.stringContaining("Its private key is for https://api.github.test and https://github.test."),
        ]);
      }
    }
    const listed = (await get("/github-apps")).find(({ id }: { id: number }) => id === app.json.id);
    expect(listed).toMatchObject({ api_url: "https://api.github.test", html_url: "https://github.test" });
    await patch(`/security/keys/${uuid}`, { private_key });
    expect((await patch(`/github-apps/${app.json.id}`, { api_url: "https://api.other.test" })).status).toBe(200);
    host.logins.length = 0;
    await api.ask("GET", `/github-apps/${app.json.id}/repositories`);
    expect(host.logins.map(({ privateKey }) => privateKey.origins)).toEqual([
      ["https://api.other.test", "https://github.test"],
    ]);
  });

  test("is not used in the clear", async () => {
    const uuid = await made("/security/keys", { private_key: testKey(testUuid()) });
    const { status, json } = await created(uuid, { html_url: "http://github.test", api_url: null });
    expect(status).toBe(422);
    expect(json.errors).toEqual({
      api_url: [expect.stringContaining("Must begin with https://")],
      html_url: [expect.stringContaining("Must begin with https://")],
    });
  });
});
