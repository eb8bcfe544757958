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

describe("base images of Berth's own Dockerfiles", () => {
  const imagesOf = (text?: string) => Object.fromEntries(readConfig({ BERTH_BASE_IMAGES: text }).baseImages);

  it("are the usual ones by default, else those that the list names", () => {
    expect(imagesOf()).toEqual({});
    expect(imagesOf("python=registry.example:5000/python, node:24-alpine=mirror/node:24")).toEqual({
      python: "registry.example:5000/python",
      "node:24-alpine": "mirror/node:24",
    });
  });

  it.each(["python", "python=", "python=x$(id)", "=x"])("are refused as %j at the start", (text) => {
    expect(() => imagesOf(text)).toThrow("BERTH_BASE_IMAGES is a list of IMAGE=OTHER, separated by commas");
  });
});

describe("the address of Hetzner's API", () => {
  const urlOf = (text?: string) => readConfig({ BERTH_HETZNER_URL: text }).hetznerUrl;

  it("is https, or http on this machine alone, since tokens are sent there", () => {
    expect(urlOf()).toBeUndefined();
    for (const url of ["https://gateway.example/v1", "http://127.0.0.1:9000/v1"]) expect(urlOf(url)).toBe(url);
  });

  it.each(["http://gateway.example/v1", "http://10.0.0.1", "ftp://gateway.example"])(
    "is refused as %j at the start",
    (text) => {
      expect(() => urlOf(text)).toThrow(/^BERTH_HETZNER_URL is an https URL, or an http URL of this machine/);
    },
  );
});
