import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";
import { operationsOf, parametersOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ path }) => parametersOf(path).length > 0)
  .map((route) => [`${route.method} ${route.path}`, route] as const);

/** Bodies that pass validation, for operations that need one. */
const BODIES: Readonly<Record<string, object>> = {
  "update-project-by-uuid": { name: "Mine now" },
  "create-environment": { name: "mine" },
  "update-server-by-uuid": { name: "mine" },
  "update-application-by-uuid": { name: "mine" },
  "create-env-by-application-uuid": { key: "MINE" },
  "update-env-by-application-uuid": { key: "THEIRS", value: "mine" },
  "update-envs-by-application-uuid": { data: [{ key: "MINE" }] },
};

describe("[S67] another team's object reads as not found", () => {
  let api: Served;
  let objects: Readonly<Record<string, string>>;
  beforeAll(async () => {
    api = await served();
    const application = await createdApplication(api, { instant_deploy: true });
    const { json } = await api.ask("GET", `/deployments/applications/${application}`);
    await api.ask("POST", `/applications/${application}/envs`, { body: { key: "THEIRS", value: "1" } });
    const envs = await api.ask("GET", `/applications/${application}/envs`);
    const tokens = await api.ask("GET", "/tokens");
    objects = {
      "/applications/{uuid}": application,
      "/deployments/applications/{uuid}": application,
      "/deployments/{uuid}": json.deployments[0].deployment_uuid,
      "/projects/{uuid}": api.where.project_uuid,
      "/servers/{uuid}": api.where.server_uuid,
      "/teams/{id}": String(api.place.server.team_id),
      "/tokens/{id}": String(tokens.json[0].id),
      "{env_uuid}": envs.json[0].uuid,
      "{environment_name_or_uuid}": "production",
    };
  });
  afterAll(() => api.close());

  /** The path with the other team's objects in it. */
  function pathOf({ path }: Route): string {
    const prefix = Object.keys(objects)
      .filter((key) => key.startsWith("/") && (path === key || path.startsWith(`${key}/`)))
      .sort((a, b) => b.length - a.length)[0];
    if (prefix === undefined) throw new Error(`Name an object for ${path} in this test.`);
    const own = path.replace(prefix, prefix.replace(/\{\w+\}/, objects[prefix] ?? ""));
    return own.replace(/\{\w+\}/g, (parameter) => {
      const value = objects[parameter];
      if (value === undefined) throw new Error(`Name an object for ${parameter} in this test.`);
      return value;
    });
  }

  test.each(routes)("%s", async (_, route) => {
    const { operation, method, body } = route;
    const example = BODIES[operation.options.operationId];
    if (body === "required" && example === undefined) throw new Error("Give this operation an example body.");
    const options = {
      token: api.otherTeam.token,
      ...(example !== undefined && body !== "none" ? { body: example } : {}),
      ...(body === "upload" ? { upload: Buffer.from("x") } : {}),
    };
    const answer = await api.ask(method, pathOf(route), options);
    expect([answer.status, answer.json.message]).toEqual([404, expect.stringMatching(/^[A-Z].* not found\.$/)]);
    expect(answer.json).not.toHaveProperty("docs");
  });

  test("and nothing of it was changed", async () => {
    const application = objects["/applications/{uuid}"];
    const { json } = await api.ask("GET", `/applications/${application}`);
    expect([json.status, json.name]).not.toContain("mine");
    expect(json.status).toBe("exited:unhealthy");
    expect((await api.ask("GET", "/deployments")).json).toHaveLength(1);
    const envs = await api.ask("GET", `/applications/${application}/envs`);
    expect(envs.json.map(({ key, value }: { key: string; value: string }) => [key, value])).toEqual([
      ["THEIRS", "1"],
      ["THEIRS", "1"],
    ]);
    expect((await api.ask("GET", `/projects/${api.where.project_uuid}`)).json.environments).toHaveLength(1);
  });
});
