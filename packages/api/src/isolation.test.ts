import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { EXAMPLE_BODIES, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { operationsOf, parametersOf, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ path }) => parametersOf(path).length > 0)
  .map((route) => [`${route.method} ${route.path}`, route] as const);

describe("[S67] another team's object reads as not found", () => {
  let api: Served;
  let objects: Objects;
  beforeAll(async () => {
    api = await served();
    objects = await madeObjects(api);
  });
  afterAll(() => api.close());

  test.each(routes)("%s", async (_, route) => {
    const { operation, method, body } = route;
    const example = EXAMPLE_BODIES[operation.options.operationId];
    if (body === "required" && example === undefined) throw new Error("Give this operation an example body.");
    const options = {
      token: api.otherTeam.token,
      ...(example !== undefined && body !== "none" ? { body: example } : {}),
      ...(body === "upload" ? { upload: Buffer.from("x") } : {}),
    };
    const answer = await api.ask(method, pathOf(route, objects), options);
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
    const tasks = await api.ask("GET", `/applications/${application}/scheduled-tasks`);
    const storages = await api.ask("GET", `/applications/${application}/storages`);
    expect([tasks.json, storages.json.persistent_storages, storages.json.file_storages]).toMatchObject([
      [{ name: "theirs" }],
      [],
      [{ mount_path: "/theirs" }],
    ]);
    expect((await api.ask("GET", `/applications/${application}/tags`)).json).toMatchObject([{ name: "theirs" }]);
    expect((await api.ask("GET", `/projects/${api.where.project_uuid}`)).json.environments).toHaveLength(1);
  });
});
