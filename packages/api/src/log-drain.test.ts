import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
let path: string;
beforeAll(async () => {
  api = await served();
  path = `/servers/${api.where.server_uuid}/log-drains`;
});
afterAll(() => api.close());

const CONFIG = "[OUTPUT]\n  Name http\n  Host logs.example.com\n  Format json\n  Header X-Key s3cr3t\n";
const SECRETS = {
  logdrain_newrelic_license_key: "license",
  logdrain_axiom_api_key: "api-key",
  logdrain_custom_config: CONFIG,
  logdrain_custom_config_parser: "[PARSER]\n  Name x\n",
};
const PLAIN = { logdrain_newrelic_base_uri: null, logdrain_axiom_dataset_name: "shop" };
const OFF = {
  is_logdrain_newrelic_enabled: false,
  is_logdrain_axiom_enabled: false,
  is_logdrain_custom_enabled: false,
};

const patch = (body: object) => api.ask("PATCH", path, { body });
const flags = async () => {
  const { json } = await api.ask("GET", path);
  return Object.keys(OFF).filter((name) => json[name]);
};
beforeEach(async () => {
  expect((await patch({ ...OFF, ...PLAIN, ...SECRETS })).status).toBe(200);
});

describe("GET /servers/{uuid}/log-drains", () => {
  test("shows secrets only to tokens that may read them", async () => {
    expect((await api.ask("GET", path)).json).toEqual({ ...OFF, ...PLAIN, ...SECRETS, problem: null });
    const token = await api.tokenWith("read");
    expect((await api.ask("GET", path, { token })).json).toEqual({ ...OFF, ...PLAIN, problem: null });
    const { json } = await api.ask("GET", `/servers/${api.where.server_uuid}`);
    expect(JSON.stringify(json)).not.toContain("api-key");
  });

  test("shows why lines are not delivered, and the server that there is a problem", async () => {
    await api.db.system.logDrains.recordProblem(api.place.server.id, "Axiom answered 403: forbidden");
    expect((await api.ask("GET", path)).json.problem).toBe("Axiom answered 403: forbidden");
    const { json } = await api.ask("GET", `/servers/${api.where.server_uuid}`);
    expect(json.log_drain_notification_sent).toBe(true);
    await patch({ is_logdrain_axiom_enabled: true });
    expect((await api.ask("GET", path)).json.problem).toBeNull();
  });
});

describe("PATCH /servers/{uuid}/log-drains", () => {
  test("enables one log drain, which the server shows, and turns the others off", async () => {
    await patch({ is_logdrain_axiom_enabled: true });
    expect(await flags()).toEqual(["is_logdrain_axiom_enabled"]);
    const { status, json } = await patch({ is_logdrain_newrelic_enabled: true });
    expect([status, json.is_logdrain_newrelic_enabled]).toEqual([200, true]);
    expect(await flags()).toEqual(["is_logdrain_newrelic_enabled"]);
    const server = await api.ask("GET", `/servers/${api.where.server_uuid}`);
    expect(server.json.settings).toMatchObject({
      is_logdrain_newrelic_enabled: true,
      logdrain_axiom_dataset_name: "shop",
    });
  });

  test("keeps what is not sent", async () => {
    await patch({ logdrain_axiom_dataset_name: "other" });
    expect((await api.ask("GET", path)).json).toMatchObject({ ...SECRETS, logdrain_axiom_dataset_name: "other" });
  });

  test("names the line of a configuration that is not supported, and what is", async () => {
    const { status, json } = await patch({
      logdrain_custom_config: "[OUTPUT]\n  Name http\n  Host h\n  Format msgpack",
    });
    expect([status, json.errors]).toEqual([
      422,
      {
        logdrain_custom_config: ["Line 4: format msgpack is not supported. Supported: json, json_lines, json_stream."],
      },
    ]);
  });

  test.each([
    { is_logdrain_axiom_enabled: true, is_logdrain_custom_enabled: true },
    { is_logdrain_axiom_enabled: true, logdrain_axiom_api_key: null },
    { logdrain_axiom_api_key: "a\r\nX-Other: b" },
    { logdrain_newrelic_base_uri: "https://evil.example/log/v1" },
    { logdrain_custom_config: "x".repeat(40_000) },
    { is_logdrain_highlight_enabled: true },
  ])("refuses %j and changes nothing", async (body) => {
    const before = (await api.ask("GET", path)).json;
    expect((await patch(body)).status).toBe(422);
    expect((await api.ask("GET", path)).json).toEqual(before);
  });

  test("needs the ability to write", async () => {
    const token = await api.tokenWith("read", "read:sensitive");
    expect((await api.ask("PATCH", path, { token, body: OFF })).status).toBe(403);
  });

  test("answers without secrets to a token that may only write", async () => {
    const token = await api.tokenWith("write");
    const { json } = await api.ask("PATCH", path, { token, body: { logdrain_axiom_dataset_name: "shop" } });
    expect(JSON.stringify(json)).not.toMatch(/api-key|license|s3cr3t/);
  });
});
