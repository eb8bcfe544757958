import { describe, expect, test } from "vitest";
import { parseDomainUrl } from "./domain.ts";
import { generatedUrls } from "./generated-domain.ts";

const uuid = "abcdefghijklmnopqrstuvwx";
const server = (ip: string, wildcard_domain: string | null = null) => ({ ip, settings: { wildcard_domain } });

describe("the URL of a resource that was given none", () => {
  test.each([
    [
      server("localhost"),
      "hello",
      ["http://hello.localhost", "http://hello-abcdef.localhost", `http://${uuid}.localhost`],
    ],
    [
      server("127.0.0.1"),
      "Mein Café!",
      ["http://mein-cafe.localhost", "http://mein-cafe-abcdef.localhost", `http://${uuid}.localhost`],
    ],
    [server("localhost"), "日本", [`http://${uuid}.localhost`]],
    [server("203.0.113.7"), "hello", [`http://${uuid}.203.0.113.7.sslip.io`]],
    [server("2001:db8::1"), "hello", [`http://${uuid}.2001-db8--1.sslip.io`]],
    [server("web.example"), "hello", [`http://${uuid}.web.example`]],
    [server("203.0.113.7", "https://apps.example"), "hello", [`https://${uuid}.apps.example`]],
    [server("localhost", "https://apps.example:8443/base"), "hello", [`https://${uuid}.apps.example:8443/base`]],
    [server("localhost", "https://*.apps.example"), "hello", [`https://${uuid}.apps.example`]],
  ])("[S07] hangs below %o for %s", (where, name, expected) => {
    expect(generatedUrls(where, { name, uuid })).toEqual(expected);
  });

  test("is always one that can be claimed, however long the name", () => {
    for (const url of generatedUrls(server("localhost"), { name: "long name ".repeat(30), uuid })) {
      expect(parseDomainUrl(url)).toHaveProperty("claim");
    }
  });
});
