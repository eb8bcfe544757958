import { afterAll, beforeAll, expect, test } from "vitest";
import { createdApplication, createdService, type Served, served } from "./berth.fixture.ts";

let api: Served;
let environment_uuid: string;
beforeAll(async () => {
  api = await served();
  const path = `/projects/${api.where.project_uuid}/environments`;
  environment_uuid = (await api.ask("POST", path, { body: { name: "staging" } })).json.uuid;
});
afterAll(() => api.close());

test("a resource of each kind is moved, and refused where it is already", async () => {
  const uuids = { applications: await createdApplication(api), services: await createdService(api) };
  for (const [kind, uuid] of Object.entries(uuids)) {
    const move = () => api.ask("POST", `/${kind}/${uuid}/move`, { body: { environment_uuid } });
    const title = kind === "applications" ? "Application" : "Service";
    expect(await move()).toMatchObject({
      status: 200,
      json: {
        message: `${title} moved successfully.`,
        uuid,
        project_uuid: api.where.project_uuid,
        environment_uuid,
      },
    });
    expect(await move()).toMatchObject({ status: 400, json: { code: "resource.state" } });
  }
});

test("an environment that is missing is named, and so is a field that no move has", async () => {
  const uuid = await createdApplication(api);
  const move = (body: object) => api.ask("POST", `/applications/${uuid}/move`, { body });
  expect(await move({ environment_uuid: "unknown" })).toMatchObject({
    status: 404,
    json: { message: "Target environment not found or not owned by your team." },
  });
  expect(await move({ project_uuid: api.where.project_uuid })).toMatchObject({
    status: 422,
    json: { errors: { environment_uuid: expect.anything(), project_uuid: ["This field is not allowed."] } },
  });
});
