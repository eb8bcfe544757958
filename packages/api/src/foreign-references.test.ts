import { contents } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asOtherTeam, type Served, served } from "./berth.fixture.ts";
import { exampleBody, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { operationsOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

/** Fields of bodies and queries that identify an object. */
const isReference = (key: string) => /(^|_)uuids?$|_token_id$/.test(key);

/** A text of the caller's own, which need not belong to an object. */
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
        // Other creations ignore it.
        .filter((key) => key !== "github_app_uuid" || route.path.endsWith("/private-github-app"))
        .map((key) => [`${route.method} ${route.path}: ${key}`, route, key] as const)
    );
  });

describe("[S67] another team's object that a request refers to", () => {
  let api: Served;
  let objects: Objects;
  /** By field, or by path and field where they differ. */
  let foreign: Readonly<Record<string, string>>;
  let before: Record<string, string>;
  beforeAll(async () => {
    api = await served();
    objects = await madeObjects(api);
    const theirs = asOtherTeam(api);
    const made = await madeObjects(theirs);
    const path = `/projects/${theirs.where.project_uuid}/environments`;
    const [[environment], service, keys, githubApp] = await Promise.all([
      theirs.ask("GET", path).then(({ json }) => json),
      theirs.ask("GET", `/services/${made["/services/{uuid}"]}`).then(({ json }) => json),
      theirs.ask("GET", "/security/keys").then(({ json }) => json),
      theirs.stores.githubApps.find(Number(made["/github-apps/{github_app_id}"])),
    ]);
    foreign = {
      ...theirs.where,
      target_database_uuid: made["/databases/{uuid}"] ?? "",
      environment_uuid: environment.uuid,
      cloud_provider_token_uuid: made["/cloud-tokens/{uuid}"] ?? "",
      cloud_provider_token_id: made["/cloud-tokens/{uuid}"] ?? "",
      ...Object.fromEntries(
        ["applications", "services", "databases"].map((kind) => [`${kind} uuid`, made[`${kind}{storage_uuid}`] ?? ""]),
      ),
      "deploy uuid": made["/applications/{uuid}"] ?? "",
      "security uuid": keys[0].uuid,
      "servers uuid": made["/applications/{uuid}"] ?? "",
      resource_uuid: service.applications[0].uuid,
      "databases resource_uuid": made["/applications/{uuid}"] ?? "",
      s3_storage_uuid: made["/s3-storages/{uuid}"] ?? "",
      destination_uuid: theirs.place.destination.uuid,
      private_key_uuid: keys[0].uuid,
      manager_uuid: theirs.where.server_uuid,
      github_app_uuid: githubApp?.uuid ?? "",
    };
    before = await contents(api.db, ["token"]);
  });
  afterAll(() => api.close());

  test.each(routes)("%s reads as not found, and nothing is changed", async (_, route, key) => {
    const reference = foreign[`${route.path.split("/")[1]} ${key}`] ?? foreign[key];
    if (reference === undefined) throw new Error(`Name another team's object for ${key} in this test.`);
    const { status } = await asked(route, key, reference);
    expect([404, 422]).toContain(status);
    expect(await contents(api.db, ["token"])).toEqual(before);
  });

  function asked(route: Route, key: string, reference: string) {
    const path = pathOf(route, objects);
    const example = exampleBody(api, route.operation);
    const isInQuery = route.queryKeys.some((inQuery) => inQuery.key === key);
    if (isInQuery) {
      // It names the servers of the resources that are deployed.
      const deployed = path === "/deploy" && key === "server_uuid" ? `uuid=${objects["/applications/{uuid}"]}&` : "";
      return api.ask(
        route.method,
        `${path}?${deployed}${key}=${reference}`,
        route.body === "none" ? {} : { body: example },
      );
    }
    // The environment's name would be looked up first, in the caller's own project.
    const { environment_name: _, ...rest } = { environment_name: "", ...example };
    return api.ask(route.method, path, {
      body: { ...(key === "environment_uuid" ? rest : example), [key]: reference },
    });
  }
});
