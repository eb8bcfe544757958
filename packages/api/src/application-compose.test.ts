import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPOSE, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

const create = (fields: object) =>
  api.ask("POST", "/applications/dockercompose", { body: { ...api.where, ...fields } });
const counts = async () => [
  (await api.ask("GET", "/applications")).json.length,
  (await api.ask("GET", "/services")).json.length,
];

describe("POST /applications/dockercompose", () => {
  test("[S74] makes a service, from plain text and from base64, and answers as applications do", async () => {
    const [applications, services] = await counts();
    for (const docker_compose_raw of [COMPOSE, Buffer.from(COMPOSE).toString("base64")]) {
      const { status, json } = await create({ docker_compose_raw, name: "Old way", type: "compose" });
      expect([status, json]).toEqual([201, { uuid: expect.any(String), fqdn: null }]);
      const service = await api.ask("GET", `/services/${json.uuid}`);
      expect(service.json).toMatchObject({
        name: "Old way",
        docker_compose_raw: COMPOSE,
        is_container_label_escape_enabled: true,
        applications: [{ name: "web" }],
      });
      expect((await api.ask("GET", `/applications/${json.uuid}`)).status).toBe(404);
    }
    expect(await counts()).toEqual([applications, services + 2]);
  });

  test("[S66] keeps whether labels are escaped", async () => {
    const { json } = await create({ docker_compose_raw: COMPOSE, is_container_label_escape_enabled: false });
    const service = await api.ask("GET", `/services/${json.uuid}`);
    expect(service.json.is_container_label_escape_enabled).toBe(false);
  });

  test("answers the URLs that the compose file asks for", async () => {
    const docker_compose_raw = "services:\n  web:\n    image: nginx\n    environment:\n      - SERVICE_FQDN_WEB\n";
    const { json } = await create({ docker_compose_raw });
    const service = await api.ask("GET", `/services/${json.uuid}`);
    expect([json.fqdn, json.fqdn]).toEqual([service.json.applications[0].fqdn, expect.stringMatching(/^http:/)]);
  });

  test("creates nothing from what is no compose file, is unknown, or cannot be started here", async () => {
    const before = await counts();
    const { environment_name: _, ...nowhere } = { ...api.where, docker_compose_raw: COMPOSE };
    for (const [fields, wrong] of [
      [{}, ["docker_compose_raw"]],
      [{ docker_compose_raw: "services: []" }, ["docker_compose_raw"]],
      [{ docker_compose_raw: COMPOSE, domains: "http://a.example" }, ["domains"]],
      [{ docker_compose_raw: COMPOSE, instant_deploy: true }, ["server_uuid"]],
    ] as const) {
      const { status, json } = await create(fields);
      expect([status, Object.keys(json.errors)]).toEqual([422, wrong]);
    }
    const refused = await api.ask("POST", "/applications/dockercompose", { body: nowhere });
    expect([refused.status, Object.keys(refused.json.errors)]).toEqual([422, ["environment_name", "environment_uuid"]]);
    expect(await counts()).toEqual(before);
  });
});
