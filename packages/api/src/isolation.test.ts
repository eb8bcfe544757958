import { contents, testPrivateKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asOtherTeam, type Served, served } from "./berth.fixture.ts";
import { EXAMPLE_BODIES, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { OPERATOR } from "./operation-options.ts";
import { operationsOf, parametersOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  // What the root team alone may do is refused before an object is looked for, see the permission suite.
  .filter(({ path, operation }) => parametersOf(path).length > 0 && !operation.options.rootTeamOnly)
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
    const answer = await askedAsOther(api, route, pathOf(route, objects));
    expect([answer.status, answer.json.message]).toEqual([404, expect.stringMatching(/^[A-Z].* not found\.$/)]);
    expect(answer.json).not.toHaveProperty("docs");
  });

  test("and nothing of it was changed", async () => {
    const application = objects["/applications/{uuid}"];
    const { json } = await api.ask("GET", `/applications/${application}`);
    expect([json.status, json.name]).not.toContain("mine");
    expect(json.status).toBe("exited:unhealthy");
    expect((await api.ask("GET", "/deployments")).json).toHaveLength(1);
    expect((await api.ask("GET", `/projects/${api.where.project_uuid}`)).json.environments).toHaveLength(1);
  });

  test.each(["applications", "services", "databases"])("nor of what its %s have", async (kind) => {
    const of = async (what: string) => (await api.ask("GET", `/${kind}/${objects[`/${kind}/{uuid}`]}/${what}`)).json;
    const { persistent_storages, file_storages } = await of("storages");
    const names = (await of("envs")).map(({ key, value }: { key: string; value: string }) => `${key}=${value}`);
    expect(new Set(names)).toEqual(new Set(["THEIRS=1"]));
    expect(persistent_storages.filter(({ name }: { name: string }) => name === "mine")).toEqual([]);
    expect(file_storages).toMatchObject([{ mount_path: "/theirs" }]);
    expect(await of("tags")).toMatchObject([{ name: "theirs" }]);
    if (kind !== "databases") expect(await of("scheduled-tasks")).toMatchObject([{ name: "theirs" }]);
    else expect(await of("backups")).toMatchObject([{ enabled: true }]);
  });
});

/** These do not identify objects of a team: a pull request, a user, a repository. */
const OF_NO_TEAM = ["{pull_request_id}", "{user_id}", "{owner}", "{repo}"];

const children = routes.flatMap(([name, route]) => {
  const parameters = route.path.match(/\{\w+\}/g) ?? [];
  return parameters.slice(1).flatMap((parameter) => {
    return OF_NO_TEAM.includes(parameter) ? [] : [[`${name}: ${parameter}`, route, parameter] as const];
  });
});

describe("[S67] another team's object below one's own reads as not found", () => {
  let api: Served;
  let theirs: Objects;
  let own: Objects;
  let remoteServer: string;
  let before: Record<string, string>;
  beforeAll(async () => {
    api = await served();
    theirs = await madeObjects(api);
    const other = asOtherTeam(api);
    own = await madeObjects(other);
    const { uuid: private_key_uuid } = await testPrivateKey(other.stores);
    const body = { name: "remote", ip: `${testUuid()}.example`, private_key_uuid };
    remoteServer = (await other.ask("POST", "/servers", { body })).json.uuid;
    before = await contents(api.db, ["token"]);
  });
  afterAll(() => api.close());

  test.each(children)("%s, and nothing is changed", async (_, route, parameter) => {
    const kind = route.path.split("/")[1];
    const foreign = Object.fromEntries(
      [parameter, `${kind}${parameter}`].flatMap((key) => (key in theirs ? [[key, theirs[key] ?? ""]] : [])),
    );
    // Of Berth's own machine, the refusal says so first.
    const isOfCluster = route.operation.options.extras?.includes(OPERATOR.cluster);
    const head = isOfCluster ? { "/servers/{uuid}": remoteServer } : {};
    const answer = await askedAsOther(api, route, pathOf(route, { ...own, ...head, ...foreign }));
    expect([answer.status, answer.json.message]).toEqual([404, expect.stringMatching(/^[A-Z].* not found\.$/)]);
    expect(await contents(api.db, ["token"])).toEqual(before);
  });
});

async function askedAsOther(api: Served, { operation, method, body }: Route, path: string) {
  const example = EXAMPLE_BODIES[operation.options.operationId];
  if (body === "required" && example === undefined) throw new Error("Give this operation an example body.");
  return await api.ask(method, path, {
    token: operation.options.ability === "root" ? api.otherTeam.powerfulToken : api.otherTeam.token,
    ...(example !== undefined && body !== "none" ? { body: example } : {}),
    ...(body === "upload" ? { upload: Buffer.from("x") } : {}),
  });
}
