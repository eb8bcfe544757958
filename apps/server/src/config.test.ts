import { describe, expect, it } from "vitest";
import { readConfig } from "./config.ts";

describe("proxies that are believed", () => {
  const proxiesOf = (text?: string) => readConfig({ BERTH_TRUSTED_PROXIES: text }).trustedProxies;

  it("are none by default, else addresses and ranges with commas or spaces between them", () => {
    expect([proxiesOf(), proxiesOf("")]).toEqual([[], []]);
    expect(proxiesOf(" 10.0.0.0/8, 192.0.2.7 fd00::/8,::1 ")).toEqual(["10.0.0.0/8", "192.0.2.7", "fd00::/8", "::1"]);
  });

  it.each([
    "proxy.internal",
    "10.0.0.0/33",
    "10.0.0/8",
    "fd00::/129",
    "10.0.0.0/",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "*",
  ])("are refused as %j at the start", (text) => {
    expect(() => proxiesOf(`10.0.0.0/8,${text}`)).toThrow(/^BERTH_TRUSTED_PROXIES is a list of addresses and ranges/);
  });
});
