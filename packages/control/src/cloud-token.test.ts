import { cloudProviders } from "@berth/cloud";
import type { CloudProviders } from "@berth/core/ports";
import { type CloudServer, type HetznerServer, startDigitalOcean, startHetzner, testServer } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { outcomes, type World, world } from "./world.fixture.ts";

const TOKEN = "hetzner-s3cret";
const DIGITALOCEAN_TOKEN = "digitalocean-s3cret";

let at: World;
let cloud: { -readonly [Kind in keyof CloudProviders]: CloudProviders[Kind] };
let hetzner: HetznerServer;
let digitalocean: CloudServer;
beforeAll(async () => {
  hetzner = await startHetzner({ token: TOKEN });
  digitalocean = await startDigitalOcean(DIGITALOCEAN_TOKEN);
  const urls = { hetzner: hetzner.url, digitalocean: digitalocean.url };
  cloud = { ...cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls }) };
  at = await world({ cloud });
});
afterAll(async () => {
  await at.db.close();
  await hetzner.close();
  await digitalocean.close();
});

const add = (name = "Shop") => at.own.cloudTokens.create({ provider: "hetzner", name, token: TOKEN });

describe("cloud tokens", () => {
  test("are added once their provider has taken them", async () => {
    const { uuid } = await add();
    const other = await at.own.cloudTokens.create({
      provider: "digitalocean",
      name: "DO",
      token: DIGITALOCEAN_TOKEN,
    });
    const { items, total } = await at.own.cloudTokens.list({});
    expect(total).toBe(2);
    expect(items.map((item) => [item.uuid, item.provider, item.name, item.servers_count])).toEqual([
      [uuid, "hetzner", "Shop", 0],
      [other.uuid, "digitalocean", "DO", 0],
    ]);
    expect(await at.own.cloudTokens.get(uuid)).toEqual(items[0]);
  });

  test("are sent to no other address than the one they were stored for", async () => {
    const { uuid } = await add("Moved");
    const other = await startHetzner({ token: TOKEN });
    const { hetzner: before } = cloud;
    try {
      cloud.hetzner = cloudProviders({ allowedPrivateHosts: ["127.0.0.1"], urls: { hetzner: other.url } }).hetzner;
      await expect(at.own.cloudTokens.validate(uuid)).rejects.toMatchObject({
        code: "cloud.refused",
        message: `The token Moved was stored for ${new URL(hetzner.url).origin}, and this instance calls ${new URL(other.url).origin}. Add it again.`,
      });
      const asked = { cloud_provider_token_uuid: uuid };
      await expect(at.own.cloudCatalogue.locations(asked, {})).rejects.toMatchObject({ code: "cloud.refused" });
      expect(other.requests).toEqual([]);
    } finally {
      cloud.hetzner = before;
      await other.close();
    }
  });

  test("that the provider refuses are not kept, and are in no sentence", async () => {
    const { total } = await at.own.cloudTokens.list({});
    for (const provider of ["hetzner", "digitalocean"] as const) {
      const refused = at.own.cloudTokens.create({ provider, name: "Bad", token: "wr0ng" });
      await expect(refused).rejects.toMatchObject({
        code: "cloud.refused",
        message: expect.not.stringContaining("wr0ng"),
      });
    }
    expect((await at.own.cloudTokens.list({})).total).toBe(total);
  });

  test("are not called wrong while their provider is out of order", async () => {
    const { uuid } = await add();
    hetzner.fail(
      "GET /locations",
      { kind: "answer", status: 503 },
      { kind: "answer", status: 429, headers: { "retry-after": "9" } },
      { kind: "answer", status: 429 },
    );
    const failed = at.own.cloudTokens.validate(uuid);
    await expect(failed).rejects.toMatchObject({
      code: "cloud.failed",
      message: "Failed to validate the token with Hetzner. Hetzner answered with status 503. Try again later.",
    });
    await expect(add()).rejects.toMatchObject({ code: "cloud.rate_limited", retryAfterSeconds: 9 });
    await expect(add()).rejects.toMatchObject({ code: "cloud.rate_limited", retryAfterSeconds: 60 });
  });

  test("are asked at the provider again whenever someone wants to know", async () => {
    const { uuid } = await add();
    expect(await at.own.cloudTokens.validate(uuid)).toEqual({ valid: true, message: "Token is valid." });
    const unauthorized = { error: { code: "unauthorized", message: "unable to authenticate" } };
    hetzner.fail("GET /locations", { kind: "answer", status: 401, body: unauthorized });
    expect(await at.own.cloudTokens.validate(uuid)).toEqual({
      valid: false,
      message: expect.stringContaining("does not accept this token"),
    });
  });

  test("are renamed and deleted", async () => {
    const { uuid } = await add();
    expect(await at.own.cloudTokens.update(uuid, { name: "Renamed" })).toEqual({ uuid });
    expect(await at.own.cloudTokens.get(uuid)).toMatchObject({ name: "Renamed", provider: "hetzner" });
    expect(await at.own.cloudTokens.delete(uuid)).toEqual({ message: "Cloud provider token deleted." });
    await expect(at.own.cloudTokens.get(uuid)).rejects.toThrow("Cloud provider token not found.");
    await expect(at.own.cloudTokens.delete(uuid)).rejects.toThrow("Cloud provider token not found.");
  });

  test("stay while servers use them", async () => {
    const { uuid } = await add();
    const token = await at.stores.cloudTokens.find(uuid);
    const { server } = await testServer(at.stores);
    await at.stores.servers.update(server.uuid, { cloud_provider_token_id: token?.id ?? null });
    await expect(at.own.cloudTokens.delete(uuid)).rejects.toMatchObject({
      code: "resource.in_use",
      message: expect.stringMatching(/^Cannot delete token that is used by servers\..*\bin use\b/),
    });
    expect((await at.own.cloudTokens.get(uuid)).servers_count).toBe(1);
  });

  test("emit events without the token", async () => {
    const { uuid } = await add("Told");
    await at.own.cloudTokens.update(uuid, { name: "Told again" });
    await at.own.cloudTokens.delete(uuid);
    const events = await at.stores.events.list({ take: 1000 });
    const told = events.filter(({ resource_uuid }) => resource_uuid === uuid);
    expect(told.map(({ type }) => type)).toEqual(["cloud_token.created", "cloud_token.updated", "cloud_token.deleted"]);
    expect(JSON.stringify(events)).not.toContain(TOKEN);
  });

  test("[S67] of another team are not found", async () => {
    const { uuid } = await add();
    const { cloudTokens } = at.otherTeam.control;
    const asked = [
      cloudTokens.get(uuid),
      cloudTokens.update(uuid, { name: "Mine" }),
      cloudTokens.validate(uuid),
      cloudTokens.delete(uuid),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Cloud provider token not found."));
    expect((await cloudTokens.list({})).total).toBe(0);
  });

  test("need the ability to write for every change, and nothing is asked without it", async () => {
    const { uuid } = await add();
    const asked = hetzner.requests.length;
    const { cloudTokens } = at.as(at.place.server.team_id, "read");
    const attempts = [
      cloudTokens.create({ provider: "hetzner", name: "x", token: TOKEN }),
      cloudTokens.update(uuid, { name: "x" }),
      cloudTokens.validate(uuid),
      cloudTokens.delete(uuid),
    ];
    expect(await outcomes(attempts)).toEqual(attempts.map(() => "Missing required permissions: write"));
    expect(hetzner.requests).toHaveLength(asked);
  });
});

describe("Hetzner's catalogue", () => {
  const lists = () => Object.entries(at.own.cloudCatalogue);

  test("[S64] is listed with a token of the team, by its uuid", async () => {
    const { uuid } = await add();
    for (const [name, list] of lists()) {
      const { items, total } = await list({ cloud_provider_token_uuid: uuid }, {});
      expect([name, items.length], name).toEqual([name, total]);
    }
    const { items, total } = await at.own.cloudCatalogue.locations(
      { cloud_provider_token_uuid: uuid },
      { skip: 1, take: 2 },
    );
    expect([items.map(({ name }) => name), total]).toEqual([["nbg1", "hel1"], 4]);
  });

  test("[S24] takes the older name with the same uuid, which counts only without the newer", async () => {
    const { uuid } = await add();
    const { locations } = at.own.cloudCatalogue;
    expect((await locations({ cloud_provider_token_id: uuid }, {})).total).toBe(4);
    expect((await locations({ cloud_provider_token_uuid: uuid, cloud_provider_token_id: "another" }, {})).total).toBe(
      4,
    );
    await expect(
      locations({ cloud_provider_token_uuid: " ", cloud_provider_token_id: null }, {}),
    ).rejects.toMatchObject({
      code: "request.invalid",
      fields: { cloud_provider_token_uuid: [expect.any(String)] },
    });
  });

  test("needs a token of Hetzner and of the team", async () => {
    const own = await add();
    const other = await at.own.cloudTokens.create({ provider: "digitalocean", name: "DO", token: DIGITALOCEAN_TOKEN });
    const asked = [
      ...lists().map(([, list]) => list({ cloud_provider_token_uuid: other.uuid }, {})),
      ...Object.values(at.otherTeam.control.cloudCatalogue).map((list) =>
        list({ cloud_provider_token_uuid: own.uuid }, {}),
      ),
      at.own.cloudCatalogue.images({ cloud_provider_token_uuid: "0" }, {}),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Hetzner cloud provider token not found."));
  });

  test("says what could not be fetched", async () => {
    const { uuid } = await add();
    for (const [path, words] of [
      ["locations", "locations"],
      ["server_types", "server types"],
      ["images", "images"],
      ["ssh_keys", "SSH keys"],
    ]) {
      hetzner.fail(`GET /${path}`, { kind: "garbage", text: "<html>" });
      const messages = await outcomes(lists().map(([, list]) => list({ cloud_provider_token_uuid: uuid }, {})));
      expect(messages.filter((message) => message !== "done")).toEqual([
        `Failed to fetch Hetzner ${words}. Hetzner did not answer with JSON.`,
      ]);
    }
  });
});
