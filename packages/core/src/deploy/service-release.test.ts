import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCompose } from "../compose/parse.ts";
import { composeStorages } from "../compose/storages.ts";
import { isDomainError } from "../errors.ts";
import type { DomainClaim, EnvRecord } from "../ports/records.ts";
import type { ServiceRecord } from "../ports/service.ts";
import type { StorageRecord } from "../ports/storage.ts";
import { type ServiceSubject, serviceSpec } from "./service-release.ts";
import type { StackArtifact } from "./stack.ts";

const COMPOSE = `
services:
  web:
    image: shop:1
    environment:
      SERVICE_URL_WEB_3000: /app
      SECRET: $SERVICE_PASSWORD_WEB
      LEVEL: "\${LEVEL:-info}"
    labels: ["price=5$", "team=web"]
    volumes: [data:/data, "./files:/files:ro", "/etc/hosts:/etc/hosts", { type: bind, source: ./app.conf, target: /app.conf, content: "a $b" }]
  db:
    image: postgres:16
    environment: { POSTGRES_PASSWORD: $SERVICE_PASSWORD_WEB }
    volumes: [data:/backup, other:/other, named:/named]
volumes: { data: , other: { external: true }, named: { name: mine } }
`;
const artifact = (compose = COMPOSE): StackArtifact => ({ type: "stack", compose, images: {}, files: [] });
// Only the fields that a spec is derived from.
const service = {
  id: 3,
  uuid: "s1",
  kind: "service",
  name: "shop",
  placement: {
    destination_network: "berth",
    project_name: "Shops",
    environment_name: "staging",
    server_ip: "192.0.2.7",
  },
  settings: { connect_to_docker_network: false, is_container_label_escape_enabled: true },
} as ServiceRecord;
const env = (key: string, value: string | null, change: Partial<EnvRecord> = {}) =>
  ({ key, value, is_preview: false, is_runtime: true, ...change }) as EnvRecord;
const claim = (container: string, url: string): DomainClaim => ({
  host: new URL(url).hostname,
  path: "/",
  url,
  container,
});

const subject = (change: Partial<ServiceSubject> = {}): ServiceSubject => ({
  service,
  secrets: { docker_compose_raw: COMPOSE, docker_compose: null },
  deployment: { uuid: "d1" },
  domains: [claim("web", "https://shop.test:3000")],
  envs: [
    env("SERVICE_URL_WEB_3000", "https://shop.test:3000/app"),
    env("SERVICE_PASSWORD_WEB", "pw"),
    env("LEVEL", "debug"),
  ],
  storages: [],
  ...change,
});
const stackOf = (change: Partial<ServiceSubject> = {}, compose = COMPOSE) => {
  const { stack } = serviceSpec(subject(change), artifact(compose));
  if (stack === undefined) throw new Error("A service is a stack.");
  return stack;
};

describe("a service that is started", () => {
  test("gives each container what the text says, its own name and URL, and what its owner added", () => {
    const { containers, variables } = stackOf({
      envs: [...subject().envs, env("MINE", "x y"), env("SERVICE_HEX_32_OLD", "z")],
    });
    expect(containers.web?.env).toEqual({
      BERTH_RESOURCE_UUID: "s1",
      BERTH_APP_NAME: "shop",
      BERTH_PROJECT_NAME: "Shops",
      BERTH_ENVIRONMENT_NAME: "staging",
      BERTH_SERVER_IP: "192.0.2.7",
      BERTH_CONTAINER_NAME: "web-s1",
      BERTH_FQDN: "shop.test",
      BERTH_URL: "https://shop.test:3000",
      COOLIFY_RESOURCE_UUID: "s1",
      COOLIFY_APP_NAME: "shop",
      COOLIFY_PROJECT_NAME: "Shops",
      COOLIFY_ENVIRONMENT_NAME: "staging",
      COOLIFY_SERVER_IP: "192.0.2.7",
      COOLIFY_CONTAINER_NAME: "web-s1",
      COOLIFY_FQDN: "shop.test",
      COOLIFY_URL: "https://shop.test:3000",
      SERVICE_NAME_WEB: "web",
      SERVICE_NAME_DB: "db",
      MINE: "x y",
      SERVICE_URL_WEB_3000: "https://shop.test:3000/app",
    });
    expect(containers.db?.env).toMatchObject({ MINE: "x y", BERTH_CONTAINER_NAME: "db-s1", BERTH_URL: "" });
    expect(containers.db?.env).not.toHaveProperty("SERVICE_URL_WEB_3000");
    expect(variables).toMatchObject({ SERVICE_PASSWORD_WEB: "pw", LEVEL: "debug", SERVICE_NAME_DB: "db" });
    expect([containers.web?.ports, containers.db?.ports]).toEqual([[3000], []]);
    expect([containers.web?.networkAliases, containers.db?.networkAliases]).toEqual([["web-s1"], ["db-s1"]]);
  });

  test("reads in its compose file what all of its containers get, unless its owner says otherwise", () => {
    const compose = `services: { web: { image: a, environment: ["A=\${COOLIFY_RESOURCE_UUID:?}"], labels: ["b=$BERTH_APP_NAME"] } }`;
    expect(stackOf({ envs: [] }, compose).variables).toMatchObject({
      COOLIFY_RESOURCE_UUID: "s1",
      BERTH_APP_NAME: "shop",
    });
    const addressed = `services: { web: { image: a, environment: ["A=$COOLIFY_URL", "B=\${COOLIFY_FQDN:?}"] } }`;
    expect(stackOf({ envs: [] }, addressed).variables).toMatchObject({
      COOLIFY_URL: "https://shop.test:3000",
      COOLIFY_FQDN: "shop.test",
      BERTH_FQDN: "shop.test",
    });
    // Earlier versions stored an empty variable of the name.
    const earlier = stackOf({ envs: [env("COOLIFY_RESOURCE_UUID", "")] }, compose);
    expect(earlier.variables).toMatchObject({ COOLIFY_RESOURCE_UUID: "s1" });
    expect(earlier.containers.web?.env).toMatchObject({ COOLIFY_RESOURCE_UUID: "s1" });
    const own = stackOf({ envs: [env("COOLIFY_RESOURCE_UUID", "mine")] }, compose);
    expect(own.variables).toMatchObject({ COOLIFY_RESOURCE_UUID: "mine", BERTH_RESOURCE_UUID: "s1" });
  });

  test("has variables byte for byte, and none that is for builds alone", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (value) => {
        const { variables, containers } = stackOf({ envs: [env("LEVEL", value), env("MINE", value)] });
        expect([variables.LEVEL, containers.web?.env.MINE]).toEqual([value, value]);
      }),
    );
    const { variables } = stackOf({ envs: [env("OFF", "1", { is_runtime: false })] });
    expect(variables).not.toHaveProperty("OFF");
  });

  test("is refused with the names of all variables that must have a value and have none", () => {
    const compose = `services: { web: { image: a, environment: ["A=\${A:?}", "B=\${B?no}", "C=\${C:?}", "D=\${D:-1}"] } }`;
    const start = () => serviceSpec(subject({ envs: [env("A", ""), env("C", "1")] }), artifact(compose));
    expect(start).toThrow("The variables A, B (no) must have a value");
    try {
      start();
    } catch (error) {
      expect(isDomainError(error, "deploy.start_failed") && error.details).toEqual({ missing_variables: ["A", "B"] });
    }
  });

  test("keeps what is in its volumes under one name, whichever containers mount it", () => {
    const { containers } = stackOf({ storages: recorded() });
    const placesOf = (name: string) =>
      containers[name]?.storages.map(({ uuid, mountPath, type }) => [type, uuid, mountPath]);
    expect(placesOf("web")).toEqual([
      ["file", "row3", "/app.conf"],
      ["volume", "s1_data", "/data"],
      ["volume", "s1_folder.files", "/files"],
    ]);
    expect(placesOf("db")).toEqual([["volume", "s1_data", "/backup"]]);
    expect(containers.web?.storages[0]).toMatchObject({ content: "a $b" });
    // After the data was mounted once, no container may start without it.
    expect(containers.web?.storages[1]).toMatchObject({ storageUuid: "row0", isRecorded: true });
    expect(containers.db?.storages[0]).toMatchObject({ storageUuid: "row4", isRecorded: true });
    expect(containers.web?.storages[2]).toMatchObject({ isReadOnly: true });
  });

  test("mounts what its owner added to a container there", () => {
    const added = {
      ...recorded()[0],
      uuid: "own",
      name: "s1-extra",
      mount_path: "/extra",
      is_managed: false,
    } as StorageRecord;
    const { containers } = stackOf({ storages: [added] });
    expect(containers.web?.storages.map(({ uuid }) => uuid)).toContain("own");
    expect(containers.db?.storages.map(({ uuid }) => uuid)).not.toContain("own");
  });

  test("has its labels as they stand, unless $ in them shall be a variable", () => {
    expect(stackOf().containers.web?.labels).toEqual({ price: "5$", team: "web" });
    const settings = { ...service.settings, is_container_label_escape_enabled: false };
    expect(stackOf({ service: { ...service, settings } }).containers.web?.labels).toEqual({});
  });

  test("joins the network of its destination when it is told to", () => {
    expect(stackOf().networks).toEqual([]);
    const settings = { ...service.settings, connect_to_docker_network: true };
    expect(stackOf({ service: { ...service, settings } }).networks).toEqual(["berth"]);
  });
});

/** The storages that the compose file defines, as stored. */
function recorded(): readonly StorageRecord[] {
  const compose = parseCompose(COMPOSE);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return composeStorages(compose, "s1").map((fields, at) => ({
    ...fields,
    id: at,
    uuid: `row${at}`,
    has_volume: at === 0,
    created_at: new Date(0),
    updated_at: new Date(0),
  }));
}
