import { cloudProviders } from "@berth/cloud";
import { type HetznerServer, startHetzner, testPrivateKey } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

const TOKEN = "hetzner-s3cret";

let api: Served;
let hetzner: HetznerServer;
let waits: number[] = [];
let sent: Record<string, unknown>;
beforeAll(async () => {
  hetzner = await startHetzner({ token: TOKEN });
  const urls = { hetzner: hetzner.url };
  api = await served({
    cloud: cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls }),
    wait: async (seconds) => void waits.push(seconds),
  });
  const body = { provider: "hetzner", name: "Shop", token: TOKEN };
  const { json } = await api.ask("POST", "/cloud-tokens", { body });
  sent = {
    cloud_provider_token_uuid: json.uuid,
    location: "fsn1",
    server_type: "cx22",
    image: "161547269",
    private_key_uuid: (await testPrivateKey(api.stores)).uuid,
  };
});
afterAll(async () => {
  await api.close();
  await hetzner.close();
});

const create = (fields: object) => api.ask("POST", "/servers/hetzner", { body: { ...sent, ...fields } });

describe("POST /servers/hetzner", () => {
  test("[S64] answers the server's uuid, the machine's number and the address", async () => {
    const { status, json } = await create({ name: "web-1", enable_ipv6: "0" });
    const [machine] = hetzner.machines;
    expect([status, json]).toEqual([
      201,
      { uuid: expect.any(String), hetzner_server_id: machine?.id, ip: expect.stringMatching(/^192\.0\.2\./) },
    ]);
    const server = await api.ask("GET", `/servers/${json.uuid}`);
    expect(server.json).toMatchObject({ name: "web-1", ip: json.ip, hetzner_server_id: machine?.id });
  });

  test("answers 409 for a name that the project has, and makes no second machine", async () => {
    const made = await create({ name: "web-2" });
    const again = await create({ name: "web-2" });
    expect([made.status, again.status, again.json.code]).toEqual([201, 409, "resource.already_exists"]);
    expect(hetzner.machines.filter(({ name }) => name === "web-2")).toHaveLength(1);
  });

  test("[S71] answers 429 with Retry-After at Hetzner's rate limit", async () => {
    const limited = { kind: "answer", status: 429, headers: { "retry-after": "41" } } as const;
    hetzner.fail("POST /servers", limited, limited, limited, limited);
    waits = [];
    const { status, headers, json } = await create({ name: "web-3" });
    expect([status, headers["retry-after"], json.code]).toEqual([429, "41", "cloud.rate_limited"]);
    expect(json.message).toBe("Rate limit exceeded. Please try again later.");
    expect(waits).toEqual([41, 8, 11]);
  });

  test.each([
    ["no token", { cloud_provider_token_uuid: null }, 422, "cloud_provider_token_uuid"],
    ["no address", { enable_ipv4: false, enable_ipv6: false }, 422, "enable_ipv4"],
    ["a name that is no host name", { name: "Web 1" }, 422, "name"],
    ["an image by its name", { image: "ubuntu-24.04" }, 422, "image"],
    ["what Hetzner does not have", { location: "moon" }, 422, "location"],
    ["what is not offered yet", { enable_backups: true }, 422, "enable_backups"],
  ])("refuses %s by field", async (_, fields, expected, field) => {
    const { status, json } = await create(fields);
    expect([status, Object.keys(json.errors)]).toEqual([expected, expect.arrayContaining([field])]);
  });

  test("names a machine that could not be deleted again, and answers 500", async () => {
    const server = await api.ask("POST", "/servers", {
      body: { ip: `192.0.2.${(lastId() + 1) % 256}`, private_key_uuid: sent.private_key_uuid },
    });
    expect(server.status).toBe(201);
    hetzner.fail(`DELETE /servers/${lastId() + 1}`, { kind: "answer", status: 500 });
    const { status, json } = await create({ name: "web-4" });
    expect([status, json.code, json.hetzner_server_id, json.hetzner_server_name]).toEqual([
      500,
      "cloud.failed",
      lastId(),
      "web-4",
    ]);
  });
});

const lastId = () => hetzner.machines.at(-1)?.id ?? 0;
