import { VERSION } from "@berth/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { operationsOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

describe("the instance", () => {
  test("tells that it is up to everyone, and its version as plain text to those with a token", async () => {
    const health = await api.ask("GET", "/health", { token: null });
    expect([health.status, health.text]).toEqual([200, "OK"]);
    const version = await api.ask("GET", "/version");
    expect([version.status, version.text, version.headers["content-type"]]).toEqual([
      200,
      "4.0.0-test",
      "text/plain; charset=utf-8",
    ]);
  });

  test("takes no operation of the family that it lacks for an environment", async () => {
    const path = `/projects/${api.where.project_uuid}/envs`;
    const { status, json } = await api.ask("GET", path);
    expect([status, json]).toEqual([
      404,
      { message: "Not found.", code: "request.not_found", docs: "/docs", request_id: expect.any(String) },
    ]);
  });

  test("[S04] offers no way to run a command", async () => {
    const { status, json } = await api.ask("POST", "/applications/x/execute", { body: { command: "id" } });
    expect([status, json.message, json.docs]).toEqual([404, "Not found.", "/docs"]);
  });

  test("is switched off and on by the root team alone", async () => {
    const lacking = await api.ask("POST", "/disable");
    expect([lacking.status, lacking.json.message]).toEqual([403, "Missing required permissions: root"]);
    const team_id = api.place.server.team_id;
    const made = await api.ask("POST", "/tokens", {
      token: api.rootToken,
      body: { name: "x", abilities: ["root"], team_id },
    });
    const token: string = made.json.token;
    const refused = await api.ask("POST", "/disable", { token });
    expect([refused.status, refused.json.message]).toEqual([403, "You are not allowed to disable the API."]);
    expect((await api.ask("GET", "/enable", { token })).json.message).toBe("You are not allowed to enable the API.");

    expect((await api.ask("GET", "/disable", { token: api.rootToken })).json).toEqual({ message: "API disabled." });
    const off = await api.ask("GET", "/applications");
    expect([off.status, off.json.message, off.json.success]).toEqual([403, "API is disabled.", false]);
    expect((await api.ask("GET", "/health", { token: null })).status).toBe(200);
    expect((await api.ask("POST", "/enable", { token: api.rootToken })).json).toEqual({ message: "API enabled." });
    expect((await api.ask("GET", "/applications")).status).toBe(200);
  });
});

describe("the settings of the instance", () => {
  const change = (reported_version: unknown, token = api.rootToken) =>
    api.ask("PATCH", "/settings", { body: { reported_version }, token });
  const version = async () => (await api.ask("GET", "/version")).text;

  test("let clients in that refuse older versions, at once, until the own version is told again", async () => {
    const { json } = await api.ask("GET", "/settings", { token: api.rootToken });
    expect(json).toEqual({ version: VERSION, reported_version: null });
    const changed = await change("4.1.2");
    expect([changed.status, changed.json]).toEqual([200, { version: VERSION, reported_version: "4.1.2" }]);
    expect(await version()).toBe("4.1.2");
    expect((await change(null)).json.reported_version).toBeNull();
    expect(await version()).toBe("4.0.0-test");
  });

  test("are the root team's, and take nothing but a version", async () => {
    for (const wrong of ["4.1", "v4.1.0", "4.1.0\n<b>", `4.1.0-${"x".repeat(64)}`, 4.1]) {
      const { status, json } = await change(wrong);
      expect([status, Object.keys(json.errors)], String(wrong)).toEqual([422, ["reported_version"]]);
    }
    const made = await api.ask("POST", "/tokens", {
      token: api.rootToken,
      body: { name: "x", abilities: ["root"], team_id: api.place.server.team_id },
    });
    for (const refused of [
      await change("4.1.0", made.json.token),
      await api.ask("GET", "/settings", { token: made.json.token }),
    ])
      expect([refused.status, refused.json.code]).toEqual([403, "auth.root_team_only"]);
    expect(await version()).toBe("4.0.0-test");
  });
});

describe("teams and tokens", () => {
  test("a team reads itself", async () => {
    const { json } = await api.ask("GET", "/teams/current");
    expect(json).toMatchObject({ name: "Own", personal_team: false, show_boarding: false });
    expect((await api.ask("GET", "/teams")).json).toEqual([json]);
    expect((await api.ask("GET", `/teams/${json.id}`)).json).toEqual(json);
    expect((await api.ask("GET", "/teams/0")).json.message).toBe("Team not found.");
    expect((await api.ask("GET", "/teams", { token: api.rootToken })).json.length).toBeGreaterThan(2);
  });

  test("a new team gets its first token from the root team", async () => {
    const team = await api.ask("POST", "/teams", { body: { name: "New" }, token: api.rootToken });
    expect(team.status).toBe(201);
    const body = { name: "first", abilities: ["read", "write"], team_id: team.json.id };
    const made = await api.ask("POST", "/tokens", { body, token: api.rootToken });
    expect([made.status, made.json.team_id]).toEqual([201, team.json.id]);
    const { json } = await api.ask("GET", "/teams/current", { token: made.json.token });
    expect(json.name).toBe("New");
    expect((await api.ask("POST", "/teams", { body: { name: "More" } })).status).toBe(403);
  });

  test("what the root team alone may do is refused to others before their body is read", async () => {
    const { team_id } = api.otherTeam.place.server;
    const token = (
      await api.ask("POST", "/tokens", { body: { name: "root", abilities: ["root"], team_id }, token: api.rootToken })
    ).json.token;
    const refused = operationsOf(appRouter).filter(({ options }) => options.rootTeamOnly !== undefined);
    expect(refused.length).toBeGreaterThan(8);
    for (const { options } of refused) {
      const { method, rootTeamOnly } = options;
      // A body that is read is refused, since no operation has this field.
      const body = method === "GET" || method === "DELETE" ? undefined : { no_such_field: 1 };
      const answer = await api.ask(method, options.path.replace("{uuid}", "none"), { token, body });
      expect([answer.status, answer.json.message]).toEqual([403, `You are not allowed to ${rootTeamOnly}.`]);
    }
  });

  test("a token is shown once, works until it is revoked, and gives no more than its maker has", async () => {
    const made = await api.ask("POST", "/tokens", { body: { name: "ci", abilities: ["read"] } });
    expect(made.status).toBe(201);
    const { id, token } = made.json;
    expect((await api.ask("GET", "/projects", { token })).status).toBe(200);
    expect((await api.ask("POST", "/projects", { token, body: { name: "Nope" } })).json.message).toBe(
      "Missing required permissions: write",
    );
    expect((await api.ask("GET", "/tokens")).text).not.toContain(token.split("|")[1]);
    const greedy = await api.ask("POST", "/tokens", { body: { name: "x", abilities: ["root"] } });
    expect([greedy.status, greedy.json.message]).toEqual([403, "Missing required permissions: root"]);
    expect((await api.ask("DELETE", `/tokens/${id}`)).json).toEqual({ message: "Token revoked." });
    expect((await api.ask("GET", "/projects", { token })).status).toBe(401);
  });
});

describe("projects, environments and servers", () => {
  test("[S26] a project is created, read, listed without environments, changed and deleted", async () => {
    const made = await api.ask("POST", "/projects", { body: { name: "Garden" } });
    expect([made.status, Object.keys(made.json)]).toEqual([201, ["uuid"]]);
    const path = `/projects/${made.json.uuid}`;
    expect((await api.ask("GET", path)).json.environments).toMatchObject([{ name: "production" }]);
    const { json: all } = await api.ask("GET", "/projects");
    expect(all.every((project: object) => !("environments" in project))).toBe(true);
    const changed = await api.ask("PATCH", path, { body: { description: "Plants" } });
    expect([changed.status, changed.json]).toEqual([
      201,
      { uuid: made.json.uuid, name: "Garden", description: "Plants" },
    ]);
    expect((await api.ask("DELETE", path)).json).toEqual({ message: "Project deleted." });
    expect((await api.ask("GET", path)).json.message).toBe("Project not found.");
    expect((await api.ask("POST", "/projects", { body: { name: "a;b", colour: "red" } })).json.errors).toEqual({
      name: [expect.any(String)],
      colour: ["This field is not allowed."],
    });
  });

  test("[S27] an environment is found by name and by identifier", async () => {
    const path = `/projects/${api.where.project_uuid}`;
    const made = await api.ask("POST", `${path}/environments`, { body: { name: "staging" } });
    expect(made.status).toBe(201);
    const again = await api.ask("POST", `${path}/environments`, { body: { name: "staging" } });
    expect([again.status, again.json.message]).toEqual([409, "Environment with this name already exists."]);
    const byName = await api.ask("GET", `${path}/staging`);
    expect(byName.json).toMatchObject({ uuid: made.json.uuid, applications: [], services: [] });
    expect((await api.ask("GET", `${path}/${made.json.uuid}`)).json).toEqual(byName.json);
    const { json: all } = await api.ask("GET", `${path}/environments`);
    expect(all.map((one: { name: string }) => one.name)).toEqual(["production", "staging"]);
    expect((await api.ask("DELETE", `${path}/environments/staging`)).json).toEqual({ message: "Environment deleted." });
    expect((await api.ask("GET", `${path}/staging`)).json.message).toBe("Environment not found.");
  });

  test("[S19] [S21] a server's queue limit is in its settings and can be set", async () => {
    const path = `/servers/${api.where.server_uuid}`;
    const before = await api.ask("GET", path);
    expect(before.json.settings.deployment_queue_limit).toBe(25);
    const changed = await api.ask("PATCH", path, { body: { deployment_queue_limit: 3, concurrent_builds: 1 } });
    expect([changed.status, changed.json]).toEqual([201, { uuid: api.where.server_uuid }]);
    expect((await api.ask("GET", "/servers")).json[0].settings).toMatchObject({
      deployment_queue_limit: 3,
      concurrent_builds: 1,
    });
    const wrong = await api.ask("PATCH", path, { body: { deployment_queue_limit: 0, proxy_type: "apache" } });
    expect([wrong.status, wrong.json.errors]).toEqual([
      422,
      { deployment_queue_limit: [expect.any(String)], proxy_type: ["Must be one of: traefik, caddy, nginx, none."] },
    ]);
    expect((await api.ask("GET", `${path}?resources=true`)).json.resources).toEqual([]);
    expect((await api.ask("GET", path)).json).not.toHaveProperty("resources");
  });
});
