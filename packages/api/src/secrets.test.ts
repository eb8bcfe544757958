import type { CloudProviders } from "@berth/core/ports";
import { type Canaries, plantCanaries, printingEngine, refusingCloud, type SecretTaker, testKey } from "@berth/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { pathOf } from "./objects.fixture.ts";
import { describe as describeApi } from "./openapi.ts";
import { operationsOf, parametersOf, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

/** Fields that only `read:sensitive` returns and no request sets, with the reason. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "EnvironmentVariable.reference_problem", // names references of the value, and no value
  "Deployment.logs", // written by workers, which redact known secrets
  "Database-redis.redis_username", // an environment variable, which has a field of its own
  "Application.private_key_id", // a number; the key itself has a field of its own
  "Application.docker_compose", // derived from docker_compose_raw
  // Fields of features that Berth does not have.
  ...["logdrain_newrelic_license_key", "logdrain_axiom_api_key", "logdrain_custom_config"].map(ofSettings),
  ...["logdrain_custom_config_parser", "sentinel_token", "sentinel_custom_url"].map(ofSettings),
]);
function ofSettings(field: string): string {
  return `ServerSetting.${field}`;
}

const acceptingCloud: CloudProviders = {
  ...refusingCloud,
  hetzner: { ...refusingCloud.hetzner, checkToken: async () => ({ isValid: true }) },
};

describe("a secret", () => {
  let api: Served;
  let objects: Record<string, string>;
  let canaries: ReadonlyMap<string, string>;
  let canary: Canaries["of"];
  let sameAs: ReadonlySet<string>;
  beforeAll(async () => {
    api = await served({ cloud: acceptingCloud, engineFor: () => printingEngine({ build_packs: ["dockerfile"] }) });
    const planted = await plantCanaries(takerOf(api));
    canaries = planted.texts;
    canary = planted.of;
    sameAs = planted.sameAs;
    objects = objectsOf(api, planted);
  });
  afterAll(() => api.close());

  test("is put into every field that is shown to nobody but those who may see secrets", async () => {
    const { components } = await describeApi(appRouter);
    const hidden = Object.entries(components.schemas).flatMap(([name, schema]) =>
      // The properties of a JSON Schema.
      Object.entries((schema as { properties?: Record<string, { description?: string }> }).properties ?? {})
        .filter(([, { description }]) => description?.includes("read:sensitive") === true)
        // In the list of all resources each kind has its own schema.
        .map(([field]) => `${name.replace(/^Listed/, "")}.${field}`),
    );
    expect(hidden.filter((field) => !canaries.has(field) && !NOT_SENT.has(field) && !sameAs.has(field))).toEqual([]);
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

/** A row with the text that its `bytea` columns would contain if they were not encrypted. */
const clearBytes = (row: string): string =>
  [...row.matchAll(/\\x([0-9a-f]+)/g)].map(([, hex = ""]) => Buffer.from(hex, "hex").toString("latin1")).join("");

const hasObject = (path: string, objects: Readonly<Record<string, string>>): boolean =>
  Object.keys(objects).some((key) => key.startsWith("/") && (path === key || path.startsWith(`${key}/`))) &&
  [...path.matchAll(/\{\w+\}/g)].slice(1).every(([parameter]) => parameter in objects);

function takerOf(api: Served): SecretTaker {
  const made = async (path: string, body: object): Promise<string> => {
    const { status, json } = await api.ask("POST", path, { body });
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(json)}`);
    return json.uuid;
  };
  return {
    made,
    changed: (path, body) => api.ask("PATCH", path, { body }),
    application: (fields, canary) => {
      const dockerfile = `FROM scratch\n# ${canary("Application.dockerfile")}`;
      return made("/applications/dockerfile", { ...api.where, dockerfile, ...fields });
    },
    where: api.where,
    privateKey: testKey("canary of a key"),
  };
}

const objectsOf = (api: Served, { made }: Canaries): Record<string, string> => ({
  "/services/{uuid}": made.service,
  "/applications/{uuid}": made.application,
  "/cloud-tokens/{uuid}": made.cloudToken,
  "/databases/{uuid}": made.database,
  "/projects/{uuid}": api.where.project_uuid,
  "/servers/{uuid}": api.where.server_uuid,
  "{environment_name_or_uuid}": api.where.environment_name,
});
