import { cloudProviders } from "@berth/cloud";
import { type HetznerServer, startHetzner } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { describe as describeApi } from "./openapi.ts";
import { appRouter } from "./root.ts";

const TOKEN = "hetzner-s3cret";

let api: Served;
let hetzner: HetznerServer;
beforeAll(async () => {
  hetzner = await startHetzner({ token: TOKEN });
  const urls = { hetzner: hetzner.url };
  api = await served({ cloud: cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls }) });
});
afterAll(async () => {
  await api.close();
  await hetzner.close();
});

async function added(): Promise<string> {
  const body = { provider: "hetzner", name: "Shop", token: ` ${TOKEN} ` };
  const { status, json } = await api.ask("POST", "/cloud-tokens", { body });
  expect([status, Object.keys(json)]).toEqual([201, ["uuid"]]);
  return json.uuid;
}

describe("a cloud token over REST", () => {
  test("is added, read, renamed, validated and deleted, and its text never answered", async () => {
    const uuid = await added();
    const list = await api.ask("GET", "/cloud-tokens?take=1");
    const one = await api.ask("GET", `/cloud-tokens/${uuid}`);
    const token = one.json;
    expect(token).toEqual({
      uuid,
      name: "Shop",
      provider: "hetzner",
      team_id: api.place.server.team_id,
      servers_count: 0,
      created_at: expect.stringMatching(/000Z$/),
      updated_at: expect.stringMatching(/000Z$/),
    });
    expect([list.json, list.headers["x-total-count"]]).toEqual([[token], "1"]);
    const renamed = await api.ask("PATCH", `/cloud-tokens/${uuid}`, { body: { name: "New" } });
    expect([renamed.status, renamed.json]).toEqual([200, { uuid }]);
    const valid = await api.ask("POST", `/cloud-tokens/${uuid}/validate`);
    expect([valid.status, valid.json]).toEqual([200, { valid: true, message: "Token is valid." }]);
    for (const { text } of [list, one, renamed, valid]) expect(text).not.toContain(TOKEN);
    const deleted = await api.ask("DELETE", `/cloud-tokens/${uuid}`);
    expect([deleted.status, deleted.json]).toEqual([200, { message: "Cloud provider token deleted." }]);
    expect((await api.ask("GET", `/cloud-tokens/${uuid}`)).json.message).toBe("Cloud provider token not found.");
  });

  test("that nobody could check is refused with 400, as the caller's matter", async () => {
    hetzner.fail("GET /locations", { kind: "answer", status: 502 }, { kind: "answer", status: 502 });
    const { status, json } = await api.ask("POST", "/cloud-tokens", {
      body: { provider: "hetzner", name: "x", token: TOKEN },
    });
    expect([status, json.code]).toEqual([400, "cloud.refused"]);
    expect(json.message).toMatch(/^Failed to validate the token with Hetzner/);
  });

  test("of a provider that cannot be reached is refused with 400", async () => {
    const closed = await startHetzner({ token: TOKEN });
    await closed.close();
    const alone = await served({
      cloud: cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls: { hetzner: closed.url } }),
    });
    try {
      const body = { provider: "hetzner", name: "x", token: TOKEN };
      const { status, json } = await alone.ask("POST", "/cloud-tokens", { body });
      expect([status, json.code]).toEqual([400, "cloud.refused"]);
      expect(json.message).toMatch(/^Failed to validate the token with Hetzner/);
    } finally {
      await alone.close();
    }
  });

  test.each([
    ["without a provider", { name: "x", token: TOKEN }, "provider"],
    ["of an unknown provider", { name: "x", token: TOKEN, provider: "vultr" }, "provider"],
    ["without a token", { name: "x", provider: "hetzner" }, "token"],
    ["with an empty token", { name: "x", provider: "hetzner", token: " " }, "token"],
    ["with a token that no header can hold", { name: "x", provider: "hetzner", token: "a\r\nb" }, "token"],
    ["without a name", { provider: "hetzner", token: TOKEN }, "name"],
    ["with a long name", { provider: "hetzner", token: TOKEN, name: "x".repeat(256) }, "name"],
  ])("%s is refused by field", async (_, body, field) => {
    const { status, json } = await api.ask("POST", "/cloud-tokens", { body });
    expect([status, Object.keys(json.errors)]).toEqual([422, [field]]);
  });

  test("that the provider refuses is answered with 400", async () => {
    const body = { provider: "hetzner", name: "Bad", token: "wr0ng" };
    const { status, json, text } = await api.ask("POST", "/cloud-tokens", { body });
    expect([status, json.code]).toEqual([400, "cloud.refused"]);
    expect(text).not.toContain("wr0ng");
  });

  test("changes its name and nothing else", async () => {
    const uuid = await added();
    for (const body of [
      { name: "x", token: "other" },
      { name: "x", provider: "digitalocean" },
      { name: null },
      { name: "" },
    ]) {
      expect((await api.ask("PATCH", `/cloud-tokens/${uuid}`, { body })).status).toBe(422);
    }
    expect((await api.ask("GET", `/cloud-tokens/${uuid}`)).json.name).toBe("Shop");
  });
});

describe("Hetzner's catalogue over REST", () => {
  const PATHS = ["locations", "server-types", "images", "ssh-keys"].map((name) => `/hetzner/${name}`);

  test.each(PATHS)("[S24] GET %s takes both names of the token, and pages", async (path) => {
    hetzner.addSshKey(path, `ssh-ed25519 ${Buffer.from(path).toString("base64")}`);
    const uuid = await added();
    const whole = await api.ask("GET", `${path}?cloud_provider_token_uuid=${uuid}`);
    expect([whole.status, whole.headers["x-total-count"]]).toEqual([200, String(whole.json.length)]);
    expect((await api.ask("GET", `${path}?cloud_provider_token_id=${uuid}`)).json).toEqual(whole.json);
    const page = await api.ask("GET", `${path}?cloud_provider_token_uuid=${uuid}&take=1`);
    expect(page.json).toEqual(whole.json.slice(0, 1));
  });

  test.each(PATHS)("GET %s needs a token", async (path) => {
    const { status, json } = await api.ask("GET", path);
    expect([status, json.message]).toEqual([422, "Validation failed."]);
    expect(Object.keys(json.errors)).toContain("cloud_provider_token_uuid");
    const unknown = await api.ask("GET", `${path}?cloud_provider_token_id=7`);
    expect([unknown.status, unknown.json.message]).toEqual([404, "Hetzner cloud provider token not found."]);
  });

  test("answers 429 with the seconds to wait, and 500 for what nobody understands", async () => {
    const uuid = await added();
    hetzner.fail("GET /images", { kind: "answer", status: 429 }, { kind: "garbage", text: '{"images":7}' });
    const path = `/hetzner/images?cloud_provider_token_uuid=${uuid}`;
    const limited = await api.ask("GET", path);
    expect([limited.status, limited.headers["retry-after"]]).toEqual([429, "60"]);
    const failed = await api.ask("GET", path);
    expect([failed.status, failed.json.code]).toEqual([500, "cloud.failed"]);
    expect(failed.json.message).toMatch(/^Failed to fetch Hetzner images\./);
  });
});

describe("the description", () => {
  test("[S28] gives the items of prices a schema of their own", async () => {
    const { components } = await describeApi(appRouter);
    const { prices } = propertiesOf(components.schemas.CloudServerType);
    expect(prices).toMatchObject({ type: "array", items: { $ref: "#/components/schemas/CloudServerTypePrice" } });
    expect(Object.keys(propertiesOf(components.schemas.CloudServerTypePrice))).toEqual(
      expect.arrayContaining(["location", "price_hourly", "price_monthly"]),
    );
  });

  test("[S24] marks cloud_provider_token_id as deprecated everywhere, and says what replaces it", async () => {
    const { paths } = await describeApi(appRouter);
    const named = [...marksOf(paths)];
    expect(named.length).toBeGreaterThanOrEqual(4);
    for (const mark of named) {
      expect(mark.deprecated).toBe(true);
      expect(mark.description).toMatch(/replaced by cloud_provider_token_uuid/);
    }
  });
});

const propertiesOf = (schema: unknown) => (schema as { properties: Record<string, unknown> }).properties;

/** All places where the older name is documented, as a parameter or as a property. */
function* marksOf(node: unknown): Generator<{ deprecated?: unknown; description?: unknown }> {
  if (typeof node !== "object" || node === null) return;
  if ("name" in node && node.name === "cloud_provider_token_id") yield { deprecated: undefined, ...node };
  for (const [key, value] of Object.entries(node)) {
    if (key === "cloud_provider_token_id") yield value;
    else yield* marksOf(value);
  }
}
