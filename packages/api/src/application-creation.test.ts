import { testGitHost, testGithubApp, testPrivateKey } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";
import { operationsOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

const BUILD_PACKS = ["nixpacks", "railpack", "static", "dockerfile", "dockerimage"];

let api: Served;
let needed: Readonly<Record<string, object>>;
beforeAll(async () => {
  api = await served({ gitHost: testGitHost() });
  Object.assign(api.engine.capabilities, { build_packs: BUILD_PACKS });
  const git = { git_repository: "https://git.example/team/hello.git", git_branch: "main", build_pack: "nixpacks" };
  const private_key_uuid = (await testPrivateKey(api.stores)).uuid;
  const github_app_uuid = (await testGithubApp(api.stores)).uuid;
  needed = {
    public: git,
    "private-deploy-key": { ...git, private_key_uuid },
    "private-github-app": { ...git, git_repository: "team/hello", github_app_uuid },
    dockerfile: { dockerfile: "FROM scratch" },
    dockerimage: { docker_registry_image_name: "nginx" },
  };
});
afterAll(() => api.close());

const WAYS = ["public", "private-deploy-key", "private-github-app", "dockerfile", "dockerimage"];
const create = (way: string, fields: object = {}) =>
  api.ask("POST", `/applications/${way}`, { body: { ...api.where, ...needed[way], ...fields } });
const count = async () => (await api.ask("GET", "/applications")).json.length;

describe.each(WAYS)("POST /applications/%s", (way) => {
  test("[S05] [S07] answers uuid and fqdn, which it makes when none is given", async () => {
    const name = `made-${way}`;
    const { status, json } = await create(way, { name });
    expect([status, json]).toEqual([201, { uuid: expect.any(String), fqdn: `http://${name}.localhost` }]);
    const without = await create(way, { autogenerate_domain: false });
    expect(without.json).toEqual({ uuid: expect.any(String), fqdn: null });
    const given = await create(way, { domains: `https://${way}.example`, autogenerate_domain: true });
    expect(given.json.fqdn).toBe(`https://${way}.example`);
  });

  test("[S44] needs a name or an identifier of the environment, and takes either", async () => {
    const before = await count();
    for (const nowhere of [{ environment_name: "" }, { environment_name: null, environment_uuid: " " }]) {
      const { status, json } = await create(way, nowhere);
      expect([status, Object.keys(json.errors)]).toEqual([422, ["environment_name", "environment_uuid"]]);
    }
    expect(await count()).toBe(before);
    const byUuid = { environment_name: "", environment_uuid: api.place.environment.uuid };
    expect((await create(way, byUuid)).status).toBe(201);
    expect((await create(way, { environment_name: " production " })).status).toBe(201);
  });

  test("[S45] takes a URL over only when it is forced to, and says from whom", async () => {
    const domains = `https://fought-${way}.example`;
    const holder = await createdApplication(api, { name: "Holder", domains });
    const refused = await create(way, { domains, force_domain_override: false });
    expect([refused.status, refused.json.conflicts[0].resource_uuid]).toEqual([409, holder]);
    const forced = await create(way, { domains, force_domain_override: true });
    expect([forced.status, forced.json.overridden[0].resource_uuid]).toEqual([201, holder]);
  });

  test("creates nothing that the server's engine cannot build", async () => {
    const before = await count();
    Object.assign(api.engine.capabilities, { build_packs: ["static"] });
    const { status, json } = await create(way, { instant_deploy: true });
    Object.assign(api.engine.capabilities, { build_packs: BUILD_PACKS });
    expect([status, json.code, Object.keys(json.errors)]).toEqual([422, "engine.unsupported", ["build_pack"]]);
    // Clients that print the message alone say what helps.
    expect(json.message).toBe(json.errors.build_pack[0]);
    expect(await count()).toBe(before);
    expect((await api.ask("GET", "/deployments")).json).toEqual([]);
  });

  test("takes fields that are not about its source, and refuses unknown ones", async () => {
    const others = { git_commit_sha: "v1.2", dockerfile: "FROM a", type: way, watch_paths: "src/**", redirect: "www" };
    expect((await create(way, others)).status).toBe(201);
    const { status, json } = await create(way, { fqdn: "http://a.example", source_type: "x" });
    expect([status, json.errors]).toEqual([
      422,
      { fqdn: ["This field is not allowed."], source_type: ["This field is not allowed."] },
    ]);
  });
});

test("all creations of applications take the same fields", () => {
  const shapes = operationsOf(appRouter)
    .filter(({ options: { method, path } }) => WAYS.some((way) => `${method} ${path}` === `POST /applications/${way}`))
    .map(({ input }) => Object.keys(input?.shape ?? {}).sort());
  expect(shapes).toHaveLength(WAYS.length);
  for (const shape of shapes) expect(shape).toEqual(shapes[0]);
});
