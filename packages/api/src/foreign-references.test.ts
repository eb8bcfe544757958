import { contents, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPOSE, type Served, served } from "./berth.fixture.ts";
import { exampleBody, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { operationsOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

/** Fields of bodies and queries that name an object. */
const isReference = (key: string) => /_uuids?$|^owner_uuid$/.test(key);

/** Named by the caller's own text, which may be of no object at all. */
const FREE = new Set(["job_uuid"]);

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ isTwin, operation }) => !isTwin && operation.options.upload === undefined)
  .flatMap((route) => {
    const inPath = new Set(route.pathKeys.map(({ key }) => key));
    const keys = Object.keys(route.operation.input?.shape ?? {});
    return (
      keys
        .filter((key) => isReference(key) && !inPath.has(key) && !FREE.has(key))
        // Other creations take it and leave it.
        .filter((key) => key !== "github_app_uuid" || route.path.endsWith("/private-github-app"))
        .map((key) => [`${route.method} ${route.path}: ${key}`, route, key] as const)
    );
  });

describe("[S67] another team's object that a request refers to", () => {
  let api: Served;
  let objects: Objects;
  let foreign: Readonly<Record<string, string>>;
  beforeAll(async () => {
    api = await served();
    objects = await madeObjects(api);
    const theirs = { token: api.otherTeam.token };
    const [environment] = (await api.ask("GET", `/projects/${api.otherTeam.where.project_uuid}/environments`, theirs))
      .json;
    const { json: team } = await api.ask("GET", "/teams/current", theirs);
    const cloudToken = { uuid: testUuid(), provider: "hetzner", name: "theirs", token: "t0ken" } as const;
    await api.db.stores(team.id).cloudTokens.insert(cloudToken);
    const made = { ...api.otherTeam.where, docker_compose: COMPOSE };
    const { json: created } = await api.ask("POST", "/services", { ...theirs, body: made });
    const { json: service } = await api.ask("GET", `/services/${created.uuid}`, theirs);
    const { json: database } = await api.ask("POST", "/databases/postgresql", {
      ...theirs,
      body: api.otherTeam.where,
    });
    foreign = {
      target_database_uuid: database.uuid,
      project_uuid: api.otherTeam.where.project_uuid,
      server_uuid: api.otherTeam.where.server_uuid,
      environment_uuid: environment.uuid,
      cloud_provider_token_uuid: cloudToken.uuid,
      resource_uuid: service.applications[0].uuid,
      // Names and uuids of what no caller of these teams owns read the same as another team's.
      ...NOWHERE,
    };
  });
  afterAll(() => api.close());

  test.each(routes)("%s reads as not found, and nothing is changed", async (_, route, key) => {
    const reference = foreign[key];
    if (reference === undefined) throw new Error(`Name another team's object for ${key} in this test.`);
    const before = await contents(api.db.url, ["token"]);
    const { status } = await asked(route, key, reference);
    expect([404, 422]).toContain(status);
    expect(await contents(api.db.url, ["token"])).toEqual(before);
  });

  function asked(route: Route, key: string, reference: string) {
    const path = pathOf(route, objects);
    const example = exampleBody(api, route.operation);
    const isInQuery = route.queryKeys.some((inQuery) => inQuery.key === key);
    if (isInQuery) {
      return api.ask(route.method, `${path}?${key}=${reference}`, route.body === "none" ? {} : { body: example });
    }
    // An environment's name would be found first, in the caller's own project.
    const { environment_name: _, ...rest } = { environment_name: "", ...example };
    return api.ask(route.method, path, {
      body: { ...(key === "environment_uuid" ? rest : example), [key]: reference },
    });
  }
});

const NOWHERE = {
  s3_storage_uuid: "s00000000000000000000000",
  destination_uuid: "d00000000000000000000000",
  private_key_uuid: "k00000000000000000000000",
  github_app_uuid: "00000000-0000-4000-8000-000000000000",
};
