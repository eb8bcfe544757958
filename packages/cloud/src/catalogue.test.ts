import { CloudImage, CloudLocation, CloudServerType, CloudSshKey } from "@berth/core/server";
import type { CloudFault } from "@berth/testing";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { type CloudBench, cloudBench, NOW, refusalOf, TOKEN } from "./cloud.fixture.ts";
import { cloudProviders } from "./providers.ts";

let bench: CloudBench;
afterEach(() => bench.close());

const names = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

describe("Hetzner's catalogue", () => {
  test("is read over all its pages", async () => {
    bench = await cloudBench({ perPageMax: 1 });
    expect(names(await bench.hetzner.locations(TOKEN))).toEqual(["fsn1", "nbg1", "hel1", "ash"]);
    expect(bench.hetznerServer.requests.map(({ query }) => query.page)).toEqual(["1", "2", "3", "4"]);
  });

  test("has what the answers promise and nothing else", async () => {
    bench = await cloudBench();
    bench.hetznerServer.addSshKey("laptop", "ssh-ed25519 AAAA ada@example");
    const { hetzner } = bench;
    const lists = [
      [CloudLocation, await hetzner.locations(TOKEN)],
      [CloudServerType, await hetzner.serverTypes(TOKEN)],
      [CloudImage, await hetzner.images(TOKEN)],
      [CloudSshKey, await hetzner.sshKeys(TOKEN)],
    ] as const;
    for (const [schema, items] of lists) {
      expect(items.length).toBeGreaterThan(0);
      expect(z.array(z.strictObject(schema.shape)).parse(items)).toEqual(items);
    }
  });

  test("[S28] names the prices of a server type at each location as decimal texts", async () => {
    bench = await cloudBench();
    const [type] = await bench.hetzner.serverTypes(TOKEN);
    expect(type?.prices[0]).toEqual({
      location: "fsn1",
      price_hourly: { net: "0.0060000000", gross: "0.0071400000" },
      price_monthly: { net: "3.0000000000", gross: "3.5700000000" },
      included_traffic: 21_990_232_555_520,
      price_per_tb_traffic: { net: "1.0000000000", gross: "1.1900000000" },
    });
  });

  test("leaves out deprecated server types, and images that are deprecated or no system", async () => {
    bench = await cloudBench();
    expect(names(await bench.hetzner.serverTypes(TOKEN))).toEqual(["cx22", "cax11"]);
    expect((await bench.hetzner.images(TOKEN)).map(({ id }) => id)).toEqual([161_547_269, 161_547_270]);
  });

  test("does without what it can do without", async () => {
    bench = await cloudBench();
    const price = { net: "1", gross: "2" };
    const prices = [{ location: "fsn1", price_hourly: price, price_monthly: price, included_traffic: null }];
    const type = { id: 1, name: "cx1", description: "CX1", cores: 1, memory: 0.5, disk: 10, prices, cpu_type: null };
    bench.hetznerServer.fail("GET /server_types", {
      kind: "garbage",
      text: JSON.stringify({ server_types: [type, { ...type, name: "old", deprecation: { unavailable_after: "x" } }] }),
    });
    const [only, ...others] = await bench.hetzner.serverTypes(TOKEN);
    expect([CloudServerType.parse(only).name, others]).toEqual(["cx1", []]);
  });

  test("says when Hetzner takes no more requests, and for how long", async () => {
    bench = await cloudBench();
    const reset = String(NOW.getTime() / 1000 + 41);
    const limited = {
      kind: "answer",
      status: 429,
      body: { error: { code: "rate_limit_exceeded", message: "x" } },
    } as const;
    bench.hetznerServer.fail("GET /locations", { ...limited, headers: { "ratelimit-reset": reset } }, limited);
    const expected = { code: "cloud.rate_limited", retryAfterSeconds: 41 };
    expect(await refusalOf(bench.hetzner.locations(TOKEN))).toMatchObject(expected);
    expect((await refusalOf(bench.hetzner.locations(TOKEN))).retryAfterSeconds).toBeUndefined();
  });

  test("is refused to a token that Hetzner does not know, and no error names the token", async () => {
    bench = await cloudBench();
    const error = await refusalOf(bench.hetzner.locations("bad-t0ken"));
    expect([error.code, error.message]).toEqual(["cloud.refused", expect.stringContaining("does not accept")]);
    const body = { error: { code: "forbidden", message: "no rights\u0007 for bad-t0ken" } };
    bench.hetznerServer.fail("GET /locations", { kind: "answer", status: 403, body });
    expect((await refusalOf(bench.hetzner.locations("bad-t0ken"))).message).toBe("Hetzner refused: no rights for ***.");
  });

  const pageTo = (next_page: unknown) => JSON.stringify({ locations: [], meta: { pagination: { next_page } } });
  const FAULTS: readonly (readonly [string, CloudFault, string])[] = [
    ["a broken server", { kind: "answer", status: 503 }, "status 503"],
    ["a redirect", { kind: "answer", status: 302, headers: { location: "http://127.0.0.1:1/" } }, "status 302"],
    ["half an answer", { kind: "garbage", text: '{"locations": [' }, "did not answer with JSON"],
    ["a page of HTML", { kind: "garbage", text: "<html>Maintenance</html>" }, "did not answer with JSON"],
    ["an empty answer", { kind: "garbage", text: "" }, "does not match its documentation"],
    ["another shape", { kind: "garbage", text: '{"locations":{}}' }, "in locations"],
    ["entries of another shape", { kind: "garbage", text: '{"locations":[{"id":"1"}]}' }, "in locations.0.id"],
    ["a page that is none", { kind: "garbage", text: pageTo("2") }, "in meta.pagination.next_page"],
    ["a connection that breaks off", { kind: "cut" }, "did not answer"],
    ["an endless answer", { kind: "flood" }, "more than"],
    ["no answer at all", { kind: "silent" }, "within 0.5 seconds"],
  ];
  test.each(FAULTS)("fails clearly for %s", async (_, fault, words) => {
    bench = await cloudBench({ secondsMax: fault.kind === "silent" ? 0.5 : 20 });
    bench.hetznerServer.fail("GET /locations", fault);
    const error = await refusalOf(bench.hetzner.locations(TOKEN));
    expect([error.code, error.message]).toEqual(["cloud.failed", expect.stringContaining(words)]);
  });

  test("ends for a provider whose pages lead in a circle", async () => {
    bench = await cloudBench();
    bench.hetznerServer.fail("GET /locations", { kind: "garbage", text: pageTo(1) });
    expect(await bench.hetzner.locations(TOKEN)).toEqual([]);
  });

  test("is asked at no private address", async () => {
    bench = await cloudBench();
    const { url } = bench.hetznerServer;
    const { hetzner } = cloudProviders({ allowedPrivateHosts: [], urls: { hetzner: url } });
    expect((await refusalOf(hetzner.locations(TOKEN))).message).toContain("is a private address");
    expect(bench.hetznerServer.requests).toEqual([]);
  });
});

describe("a token", () => {
  test("is valid when its provider takes it", async () => {
    bench = await cloudBench();
    for (const provider of [bench.hetzner, bench.digitalocean]) {
      expect(await provider.checkToken(TOKEN)).toEqual({ isValid: true });
      expect(await provider.checkToken("bad-t0ken")).toEqual({
        isValid: false,
        reason: expect.stringContaining("does not accept this token"),
      });
    }
  });

  test("of DigitalOcean that may not read the account is refused with what it lacks", async () => {
    bench = await cloudBench();
    bench.digitaloceanServer.fail("GET /account", { kind: "answer", status: 403, body: { id: "forbidden" } });
    const { reason } = { reason: "", ...(await bench.digitalocean.checkToken(TOKEN)) };
    expect(reason).toContain("account:read");
  });

  test("is not called invalid while its provider is out of order", async () => {
    bench = await cloudBench();
    bench.hetznerServer.fail("GET /locations", { kind: "answer", status: 500 });
    bench.digitaloceanServer.fail(
      "GET /account",
      { kind: "cut" },
      { kind: "answer", status: 404 },
      { kind: "answer", status: 429, headers: { "retry-after": "7" } },
    );
    expect((await refusalOf(bench.hetzner.checkToken(TOKEN))).code).toBe("cloud.failed");
    const asked = [1, 2, 3].map(() => () => refusalOf(bench.digitalocean.checkToken(TOKEN)));
    const codes = [];
    for (const ask of asked) codes.push((await ask()).code);
    expect(codes).toEqual(["cloud.failed", "cloud.failed", "cloud.rate_limited"]);
  });
});
