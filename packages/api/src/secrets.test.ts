import { randomBytes } from "node:crypto";
import type { CloudProviders } from "@berth/core";
import { printingEngine, refusingCloud, testKey } from "@berth/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { pathOf } from "./objects.fixture.ts";
import { describe as describeApi } from "./openapi.ts";
import { operationsOf, parametersOf, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

/** Fields that only `read:sensitive` sees and that no request sets, with the reason. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "Deployment.logs", // written by workers, who take known secrets out of every line
  "Database-redis.redis_username", // an environment variable, which is a field of its own
  "Application.private_key_id", // a number; the key itself is a field of its own
  "Application.docker_compose", // made from docker_compose_raw
  // Of features that Berth does not have.
  ...["logdrain_newrelic_license_key", "logdrain_axiom_api_key", "logdrain_custom_config"].map(ofSettings),
  ...["logdrain_custom_config_parser", "sentinel_token", "sentinel_custom_url"].map(ofSettings),
]);
function ofSettings(field: string): string {
  return `ServerSetting.${field}`;
}

/** Sent where a field is secret: one text for each field, to be looked for everywhere. */
const canaries = new Map<string, string>();
function canary(field: string): string {
  const known = canaries.get(field) ?? `canary${randomBytes(12).toString("hex")}`;
  canaries.set(field, known);
  return known;
}

const acceptingCloud: CloudProviders = {
  ...refusingCloud,
  hetzner: { ...refusingCloud.hetzner, checkToken: async () => ({ isValid: true }) },
};

describe("a secret", () => {
  let api: Served;
  let objects: Record<string, string>;
  beforeAll(async () => {
    api = await served({ cloud: acceptingCloud, engineFor: () => printingEngine({ build_packs: ["dockerfile"] }) });
    objects = await everySecret(api);
  });
  afterAll(() => api.close());

  test("is put into every field that is shown to nobody but those who may see secrets", async () => {
    const { components } = await describeApi(appRouter);
    const hidden = Object.entries(components.schemas).flatMap(([name, schema]) =>
      // As JSON Schema has them.
      Object.entries((schema as { properties?: Record<string, { description?: string }> }).properties ?? {})
        .filter(([, { description }]) => description?.includes("read:sensitive") === true)
        // In the list of all resources each kind has its own fields.
        .map(([field]) => `${name.replace(/^Listed/, "")}.${field}`),
    );
    expect(hidden.filter((field) => !canaries.has(field) && !NOT_SENT.has(field) && !SAME_AS.has(field))).toEqual([]);
  });

  test("stands in clear nowhere in the database, its events included", async () => {
    const client = new pg.Client({ connectionString: api.db.url });
    await client.connect();
    try {
      const { rows: tables } = await client.query<{ name: string }>(
        "select table_name as name from information_schema.tables where table_schema = 'public'",
      );
      for (const { name } of tables) {
        const { rows } = await client.query<{ text: string }>(
          `select t::text as text from ${client.escapeIdentifier(name)} t`,
        );
        const dump = rows.map(({ text }) => text + clearBytes(text)).join("\n");
        for (const [field, text] of canaries) expect([name, field, dump.includes(text)]).toEqual([name, field, false]);
      }
    } finally {
      await client.end();
    }
  });

  test("is in no answer to a token without read:sensitive", async () => {
    const token = await api.tokenWith("read");
    const routes = operationsOf(appRouter)
      .flatMap(routesOf)
      .filter(({ method, isTwin, operation }) => method === "GET" && !isTwin && operation.options.events === undefined);
    let asked = 0;
    for (const route of routes) {
      const isKnown = parametersOf(route.path).length === 0 || hasObject(route.path, objects);
      if (!isKnown) continue;
      const { text } = await api.ask("GET", pathOf(route, objects), { token });
      for (const [field, secret] of canaries)
        expect([route.path, field, text.includes(secret)]).toEqual([route.path, field, false]);
      asked++;
    }
    expect(asked).toBeGreaterThan(35);
  });

  test("is in no error that refuses it", async () => {
    const secret = canary("refused");
    const long = secret + "x".repeat(70_000);
    const refused = [
      await api.ask("POST", `/applications/${objects["/applications/{uuid}"]}/envs`, {
        body: { key: "no key", value: secret },
      }),
      await api.ask("POST", `/applications/${objects["/applications/{uuid}"]}/envs`, {
        body: { key: "A", value: [secret] },
      }),
      await api.ask("PATCH", `/applications/${objects["/applications/{uuid}"]}`, {
        body: { http_basic_auth_password: long },
      }),
      await api.ask("POST", "/private-keys", { body: { private_key: secret } }),
      await api.ask("POST", "/security/keys", { body: { private_key: secret } }),
      await api.ask("POST", "/cloud-tokens", { body: { provider: "nobody", token: secret, name: "x" } }),
      await api.ask("POST", "/databases/postgresql", { body: { ...api.where, postgres_password: `${secret} '` } }),
      await api.ask("GET", "/projects", { token: `1|${secret}` }),
    ];
    for (const { status, text } of refused) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(text).not.toContain(secret);
    }
    expect(JSON.stringify(api.faults)).not.toContain(secret);
  });

  test("is shown to who may see it", async () => {
    const { json } = await api.ask("GET", `/applications/${objects["/applications/{uuid}"]}`);
    expect(json.http_basic_auth_password).toBe(canary("Application.http_basic_auth_password"));
    expect(json.dockerfile).toContain(canary("Application.dockerfile"));
  });
});

/** What a `bytea` would say if it were not encrypted. */
const clearBytes = (row: string): string =>
  [...row.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1")).join("");

const hasObject = (path: string, objects: Readonly<Record<string, string>>): boolean =>
  Object.keys(objects).some((key) => key.startsWith("/") && (path === key || path.startsWith(`${key}/`))) &&
  [...path.matchAll(/\{\w+\}/g)].slice(1).every(([parameter]) => parameter in objects);

/** The same value seen in another place. */
const SAME_AS = new Set<string>();

async function everySecret(api: Served): Promise<Record<string, string>> {
  const made = async (path: string, body: object): Promise<string> => {
    const { status, json } = await api.ask("POST", path, { body });
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(json)}`);
    return json.uuid;
  };
  const of = (schema: string, ...fields: string[]) =>
    Object.fromEntries(fields.map((field) => [field, canary(`${schema}.${field}`)]));

  const application = await made("/applications/dockerfile", {
    ...api.where,
    dockerfile: `FROM scratch\n# ${canary("Application.dockerfile")}`,
    custom_labels: `a=${canary("Application.custom_labels")}`,
    is_http_basic_auth_enabled: true,
    http_basic_auth_username: "me",
    ...of("Application", "http_basic_auth_password"),
  });
  const hosts = ["github", "gitlab", "bitbucket", "gitea"];
  await api.ask("PATCH", `/applications/${application}`, {
    body: {
      ...of("Application", ...hosts.map((host) => `manual_webhook_secret_${host}`)),
      docker_compose_raw: `# ${canary("Application.docker_compose_raw")}`,
    },
  });

  await made(`/applications/${application}/envs`, { key: "SECRET", value: canary("EnvironmentVariable.value") });
  SAME_AS.add("EnvironmentVariable.real_value");
  await made(`/applications/${application}/storages`, {
    type: "file",
    mount_path: "/f",
    content: canary("FileStorage.content"),
  });

  canaries.set("PrivateKey.private_key", testKey("canary of a key").split("\n")[1] ?? "");
  await made("/security/keys", {
    private_key: testKey("canary of a key"),
    is_http_basic_auth_enabled: true,
    http_basic_auth_username: "me",
    ...of("PrivateKey", "http_basic_auth_password"),
  });
  const cloudToken = await made("/cloud-tokens", {
    provider: "hetzner",
    name: "cloud",
    token: canary("CloudToken.token"),
  });
  const databases = await Promise.all(
    Object.entries(PASSWORDS).map(([engine, fields]) =>
      made(`/databases/${engine}`, { ...api.where, ...of(`Database-${engine}`, ...fields) }),
    ),
  );
  for (const engine of Object.keys(PASSWORDS)) {
    for (const url of ["internal_db_url", "external_db_url"]) SAME_AS.add(`Database-${engine}.${url}`);
  }
  await made("/s3-storages", {
    ...{ name: "backups", endpoint: "https://s3.example.com", region: "eu-central-1", bucket: "backups" },
    ...of("S3Storage", "key", "secret"),
  });
  const compose = canary("Service.docker_compose_raw");
  const service = await made("/services", {
    ...api.where,
    docker_compose: `services:\n  web:\n    image: nginx\n    environment:\n      SECRET: ${compose}\n`,
  });
  SAME_AS.add("Service.docker_compose");
  return {
    "/services/{uuid}": service,
    "/applications/{uuid}": application,
    "/cloud-tokens/{uuid}": cloudToken,
    "/databases/{uuid}": databases[0] ?? "",
    "/projects/{uuid}": api.where.project_uuid,
    "/servers/{uuid}": api.where.server_uuid,
    "{environment_name_or_uuid}": api.where.environment_name,
  };
}

const PASSWORDS: Readonly<Record<string, readonly string[]>> = {
  postgresql: ["postgres_password"],
  mysql: ["mysql_root_password", "mysql_password"],
  mariadb: ["mariadb_root_password", "mariadb_password"],
  mongodb: ["mongo_initdb_root_password"],
  redis: ["redis_password"],
  keydb: ["keydb_password"],
  dragonfly: ["dragonfly_password"],
  clickhouse: ["clickhouse_admin_password"],
};
