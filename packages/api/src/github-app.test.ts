import { DomainError } from "@berth/core";
import { emptyTables, hostedRepository, testGitHost, testKey, testPrivateKey } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

const host = testGitHost();
let api: Served;
beforeAll(async () => {
  api = await served({ gitHost: host });
});
afterEach(async () => {
  host.problem = undefined;
  host.logins.length = 0;
  await emptyTables(api.db.url, ["resource", "github_app", "private_key", "event"]);
});
afterAll(() => api.close());

const SECRETS = { client_secret: "client s3cret", webhook_secret: "webhook s3cret" };

async function appFields(fields: object = {}) {
  return {
    name: "Berth",
    organization: "team",
    api_url: "https://api.github.test",
    html_url: "https://github.test",
    custom_user: "git",
    custom_port: 22,
    app_id: 4711,
    installation_id: 815,
    client_id: "Iv1.0123456789abcdef",
    private_key_uuid: (await testPrivateKey(api.stores)).uuid,
    ...SECRETS,
    ...fields,
  };
}

async function madeApp(fields: object = {}) {
  const { status, json } = await api.ask("POST", "/github-apps", { body: await appFields(fields) });
  if (status !== 201) throw new Error(`It was not made: ${JSON.stringify(json)}`);
  return json;
}

const application = (app: { uuid: string }, fields: object = {}) =>
  api.ask("POST", "/applications/private-github-app", {
    body: {
      ...api.where,
      github_app_uuid: app.uuid,
      git_repository: "team/hello",
      git_branch: "main",
      build_pack: "nixpacks",
      ...fields,
    },
  });

describe("a GitHub app", () => {
  test("[S03] is added, listed, changed and removed", async () => {
    const app = await madeApp();
    expect(app).toMatchObject({
      id: expect.any(Number),
      uuid: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      name: "Berth",
      organization: "team",
      api_url: "https://api.github.test",
      html_url: "https://github.test",
      app_id: 4711,
      installation_id: 815,
      is_system_wide: false,
      is_public: false,
      type: "github",
    });
    const list = await api.ask("GET", "/github-apps");
    expect([list.json, list.headers["x-total-count"]]).toEqual([[app], "1"]);
    const changed = await api.ask("PATCH", `/github-apps/${app.id}`, { body: { name: "Other", installation_id: 9 } });
    expect([changed.status, changed.json]).toEqual([
      200,
      {
        message: "GitHub app updated successfully",
        data: { ...app, name: "Other", installation_id: 9, updated_at: expect.any(String) },
      },
    ]);
    const removed = await api.ask("DELETE", `/github-apps/${app.id}`);
    expect([removed.status, removed.json]).toEqual([200, { message: "GitHub app deleted successfully" }]);
    expect((await api.ask("GET", "/github-apps")).json).toEqual([]);
    const events = await api.stores.events.list({});
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("github_app"))).toEqual([
      "github_app.created",
      "github_app.updated",
      "github_app.deleted",
    ]);
  });

  test("never shows its secrets to any caller, nor writes them anywhere in the clear", async () => {
    const app = await madeApp();
    const answers = [
      await api.ask("GET", "/github-apps"),
      await api.ask("GET", "/github-apps", { token: await api.tokenWith("read") }),
      await api.ask("PATCH", `/github-apps/${app.id}`, { body: SECRETS }),
      await api.stores.events.list({}),
    ];
    expect(JSON.stringify(answers)).not.toContain("s3cret");
  });

  test("takes its defaults: GitHub's own API, git at port 22", async () => {
    const { api_url: _url, custom_user: _user, custom_port: _port, ...rest } = await appFields();
    const { json } = await api.ask("POST", "/github-apps", { body: { ...rest, html_url: "https://github.com/" } });
    expect(json).toMatchObject({
      html_url: "https://github.com",
      api_url: "https://api.github.com",
      custom_user: "git",
      custom_port: 22,
    });
    const other = { ...rest, private_key_uuid: (await testPrivateKey(api.stores)).uuid };
    const enterprise = await api.ask("POST", "/github-apps", { body: { ...other, html_url: "https://git.acme.test" } });
    expect(enterprise.json.api_url).toBe("https://git.acme.test/api/v3");
  });

  test.each([
    ["api_url", "ftp://github.test"],
    ["api_url", "https://user:password@github.test"],
    ["api_url", "https://github.test/?x=1"],
    ["api_url", "http://169.254.169.254/latest"],
    ["html_url", "javascript:alert(1)"],
    ["html_url", "http://169.254.169.254"],
    ["organization", "a/b"],
    ["app_id", 0],
    ["app_id", 1.5],
    ["custom_port", 65536],
    ["client_secret", ""],
    ["webhook_secret", ""],
    ["name", ""],
    ["unknown", 1],
  ])("with %s %j gets 422 that names it", async (field, value) => {
    const { status, json } = await api.ask("POST", "/github-apps", { body: await appFields({ [field]: value }) });
    expect([status, Object.keys(json.errors)]).toEqual([422, [field]]);
  });

  test("with a key that the team has not gets 404", async () => {
    const key = { private_key: testKey("theirs") };
    const theirs = await api.ask("POST", "/security/keys", { token: api.otherTeam.token, body: key });
    for (const private_key_uuid of ["unknown", theirs.json.uuid]) {
      const made = await api.ask("POST", "/github-apps", { body: await appFields({ private_key_uuid }) });
      expect([made.status, made.json.message]).toEqual([404, "Private key not found or does not belong to your team."]);
      const app = await madeApp();
      const changed = await api.ask("PATCH", `/github-apps/${app.id}`, { body: { private_key_uuid } });
      expect(changed.status).toBe(404);
    }
  });

  test("that applications use is not removed, and its key neither", async () => {
    const key = await testPrivateKey(api.stores);
    const app = await madeApp({ private_key_uuid: key.uuid });
    await application(app);
    const removed = await api.ask("DELETE", `/github-apps/${app.id}`);
    expect([removed.status, removed.json.code, removed.json.message]).toEqual([
      409,
      "github_app.in_use",
      expect.stringContaining("in use"),
    ]);
    expect((await api.ask("DELETE", `/security/keys/${key.uuid}`)).status).toBe(422);
  });
});

describe("what a GitHub app sees", () => {
  test("are repositories and their branches, asked with its own login", async () => {
    const app = await madeApp();
    const repositories = await api.ask("GET", `/github-apps/${app.id}/repositories`);
    expect([repositories.status, repositories.headers["x-total-count"]]).toEqual([200, "2"]);
    expect(repositories.json.repositories.map(({ full_name }: { full_name: string }) => full_name)).toEqual([
      "team/hello",
      "team/api",
    ]);
    const branches = await api.ask("GET", `/github-apps/${app.id}/repositories/team/hello/branches?take=1&skip=1`);
    expect([
      branches.json.branches.map(({ name }: { name: string }) => name),
      branches.headers["x-total-count"],
    ]).toEqual([["next"], "2"]);
    expect(host.logins[0]).toMatchObject({ apiUrl: "https://api.github.test", appId: 4711, installationId: 815 });
    expect(host.logins[0]?.privateKey.for("https://api.github.test")).toContain("PRIVATE KEY");
  });

  test.each([
    [new DomainError("git_host.refused", "Failed to generate Github App token.", { details: { reason: "x" } }), 400],
    [new DomainError("git_host.failed", "github.test cannot be reached."), 400],
    [new DomainError("rate.limited", "Try again.", { retryAfterSeconds: 17 }), 429],
  ])("is told when the host does not answer: %s", async (problem, status) => {
    const app = await madeApp();
    host.problem = problem;
    const answer = await api.ask("GET", `/github-apps/${app.id}/repositories`);
    expect([answer.status, answer.json.message]).toEqual([status, problem.message]);
    if (status === 429) expect(answer.headers["retry-after"]).toBe("17");
  });

  test.each(["..", "a b", "%2e%2e", "a%2Fb"])("is asked of no other place of the host: %s", async (owner) => {
    const app = await madeApp();
    const { status } = await api.ask("GET", `/github-apps/${app.id}/repositories/${owner}/hello/branches`);
    expect([404, 422]).toContain(status);
    expect(host.logins).toEqual([]);
  });

  test("is no secret to those who may only read, and nothing to the others", async () => {
    const app = await madeApp();
    const path = `/github-apps/${app.id}/repositories`;
    expect((await api.ask("GET", path, { token: await api.tokenWith("read") })).status).toBe(200);
    expect((await api.ask("GET", path, { token: await api.tokenWith("deploy") })).status).toBe(403);
  });
});

describe("an application of a GitHub app", () => {
  test("[S03] [S05] is created with the repository as GitHub knows it", async () => {
    const app = await madeApp();
    const made = await application(app, { git_repository: "https://github.test/Team/Hello.git" });
    expect([made.status, Object.keys(made.json).sort()]).toEqual([201, ["fqdn", "uuid"]]);
    const { json } = await api.ask("GET", `/applications/${made.json.uuid}`);
    expect(json).toMatchObject({
      source: "git",
      git_repository: "team/hello",
      git_branch: "main",
      git_full_url: "https://github.test/team/hello.git",
      repository_project_id: 11,
      source_id: app.id,
    });
  });

  test("is deployed at once when that is asked for", async () => {
    const { json } = await application(await madeApp(), { instant_deploy: true });
    const list = await api.ask("GET", `/deployments/applications/${json.uuid}`);
    expect(list.json.deployments[0].deployment_uuid).toBe(json.deployment_uuid);
  });

  test.each([
    ["git_repository", "team"],
    ["git_repository", "https://gitlab.test/team/hello"],
    ["git_repository", "../../user/repos"],
    ["git_repository", ""],
    ["git_branch", "a..b"],
    ["github_app_uuid", ""],
    ["build_pack", "unknown"],
  ])("with %s %j gets 422 before GitHub is asked", async (field, value) => {
    const { status, json } = await application(await madeApp(), { [field]: value });
    expect([status, Object.keys(json.errors), host.logins]).toEqual([422, [field], []]);
  });

  test.each([
    [
      new DomainError("git_host.refused", "Failed to generate Github App token."),
      400,
      "Failed to generate Github App token.",
    ],
    [new DomainError("git_host.failed", "No answer."), 400, "Failed to verify repository access: No answer."],
    [new DomainError("rate.limited", "Wait.", { retryAfterSeconds: 9 }), 429, "Wait."],
  ])("is not created when GitHub answers %s", async (problem, status, message) => {
    const app = await madeApp();
    host.problem = problem;
    const made = await application(app);
    expect([made.status, made.json.message]).toEqual([status, message]);
    expect((await api.ask("GET", "/applications")).json).toEqual([]);
  });

  test.each(["file:///etc", "team/../other", "team/hello/wiki", ""])(
    "is not created when the host calls its repository %j",
    async (full_name) => {
      const app = await madeApp();
      const { repository } = host;
      host.repository = async () => ({ ...hostedRepository(11, "team/hello"), full_name });
      const { status, json } = await application(app);
      host.repository = repository;
      expect([status, json.code, (await api.ask("GET", "/applications")).json]).toEqual([400, "git_host.failed", []]);
    },
  );

  test("is not created for a repository that the app does not see", async () => {
    const { status, json } = await application(await madeApp(), { git_repository: "team/other" });
    expect([status, json.message]).toEqual([404, "Repository not found or not accessible by the GitHub App."]);
  });

  test("is not created with an app that the team has not", async () => {
    const app = await madeApp();
    const unknown = await application({ uuid: "00000000-0000-4000-8000-000000000000" });
    const theirs = await api.ask("POST", "/applications/private-github-app", {
      token: api.otherTeam.token,
      body: {
        ...api.otherTeam.where,
        github_app_uuid: app.uuid,
        git_repository: "team/hello",
        git_branch: "main",
        build_pack: "nixpacks",
      },
    });
    for (const { status, json } of [unknown, theirs]) {
      expect([status, json.message]).toEqual([404, "Github App not found."]);
    }
  });

  test("takes another repository of the same app, and keeps what it has when there is none", async () => {
    const { uuid } = (await application(await madeApp())).json;
    const path = `/applications/${uuid}`;
    expect((await api.ask("PATCH", path, { body: { git_repository: "team/api" } })).status).toBe(200);
    expect((await api.ask("GET", path)).json).toMatchObject({ git_repository: "team/api", repository_project_id: 12 });
    expect((await api.ask("PATCH", path, { body: { git_repository: "team/other" } })).status).toBe(404);
    for (const git_repository of ["https://git.example/a/b.git", "", null]) {
      expect((await api.ask("PATCH", path, { body: { git_repository } })).status).toBe(422);
    }
    host.problem = new DomainError("git_host.failed", "No answer.");
    expect((await api.ask("PATCH", path, { body: { git_branch: "next" } })).status).toBe(200);
    expect((await api.ask("GET", path)).json).toMatchObject({ git_repository: "team/api", git_branch: "next" });
  });

  test("leaves other applications' repositories as they are", async () => {
    const uuid = await createdApplication(api);
    const body = { git_repository: "https://git.example/team/other.git" };
    expect((await api.ask("PATCH", `/applications/${uuid}`, { body })).status).toBe(200);
    expect(host.logins).toEqual([]);
  });
});
