import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { COMPOSE, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

describe("POST /services", () => {
  test("[S40] creates a compose service, from plain text and from base64, under either name of the field", async () => {
    const base64 = Buffer.from(COMPOSE).toString("base64");
    for (const fields of [{ docker_compose: COMPOSE }, { docker_compose: base64 }, { docker_compose_raw: base64 }]) {
      const made = await api.ask("POST", "/services", { body: { ...api.where, ...fields } });
      expect([made.status, made.json]).toEqual([201, { uuid: expect.any(String), domains: [] }]);
      const { json } = await api.ask("GET", `/services/${made.json.uuid}`);
      expect(json).toMatchObject({
        uuid: made.json.uuid,
        name: `service-${made.json.uuid.slice(0, 10)}`,
        status: "exited",
        service_type: null,
        docker_compose_raw: COMPOSE,
        is_container_label_escape_enabled: true,
        connect_to_docker_network: false,
        applications: [{ name: "web", image: "nginx:1.27", fqdn: null, status: "exited" }],
        databases: [{ name: "db", image: "postgres:16", status: "exited" }],
      });
    }
  });
});
