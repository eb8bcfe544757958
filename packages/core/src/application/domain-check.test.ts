import { describe, expect, test } from "vitest";
import { type DomainFindings, domainCheck, siteOf } from "./domain-check.ts";

const now = new Date("2026-06-01T00:00:00Z");
const seen = {
  issuer: "Let's Encrypt",
  startsAt: new Date("2026-05-03T00:00:00Z"),
  expiresAt: new Date("2026-08-01T00:00:00Z"),
  isForName: true,
  problem: null,
};
const RIGHT: DomainFindings = {
  found: { addresses: ["203.0.113.7"], hasHidden: false },
  serverAddresses: ["203.0.113.7"],
  routeProblem: undefined,
  certificate: seen,
  now,
};
const URL_OF_SHOP = "https://shop.example.com/app";
const check = (findings: Partial<DomainFindings>) => domainCheck(URL_OF_SHOP, { ...RIGHT, ...findings });

describe("a check of a URL", () => {
  test("has the addresses, and the certificate with its end", () => {
    expect(check({})).toEqual({
      url: URL_OF_SHOP,
      addresses: ["203.0.113.7"],
      dns_problem: null,
      route_problem: null,
      certificate: { issuer: "Let's Encrypt", expires_at: "2026-08-01T00:00:00.000000Z" },
      certificate_problem: null,
    });
  });

  test.each([
    [[], false, ["203.0.113.7"], "shop.example.com has no address. Add a DNS record that names 203.0.113.7."],
    [[], false, [], "shop.example.com has no address. Add a DNS record that names the server's address."],
    [[], true, ["203.0.113.7"], null],
    [
      ["198.51.100.1"],
      false,
      ["203.0.113.7"],
      expect.stringMatching(/resolves to 198.51.100.1, not to 203.0.113.7. Change/),
    ],
    [["198.51.100.1", "203.0.113.7"], false, ["203.0.113.7"], null],
    [["198.51.100.1"], false, [], null],
  ])(
    "with the addresses %j (others hidden: %s) for a server with %j says %j",
    (addresses, hasHidden, server, problem) => {
      expect(check({ found: { addresses, hasHidden }, serverAddresses: server }).dns_problem).toEqual(problem);
    },
  );

  test.each([
    [{ failure: "Nothing answers.", isReached: false }, null, "Nothing answers."],
    [{ failure: "There is none.", isReached: true }, null, expect.stringMatching(/^There is none\. .* look again/)],
    [{ ...seen, problem: "It is not trusted." }, seen.issuer, "It is not trusted."],
    [
      { ...seen, isForName: false, problem: "It is for another name." },
      seen.issuer,
      expect.stringMatching(/^It is for another name\. .* look again/),
    ],
    [{ ...seen, expiresAt: new Date("2026-05-01T00:00:00Z") }, seen.issuer, expect.stringMatching(/has expired/)],
    [{ ...seen, startsAt: new Date("2026-07-01T00:00:00Z") }, seen.issuer, expect.stringMatching(/is not valid yet/)],
    [undefined, undefined, null],
  ])("with the certificate %j has that of %s and says %j", (certificate, issuer, problem) => {
    const { certificate: shown, certificate_problem } = check({ certificate });
    expect([shown?.issuer ?? null, certificate_problem]).toEqual([issuer ?? null, problem]);
  });

  test("passes on why its requests are not forwarded", () => {
    expect(check({ routeProblem: "The proxy is stopped." }).route_problem).toBe("The proxy is stopped.");
  });
});

test.each([
  ["https://a.example", { host: "a.example", isHttps: true, hasRecord: true }],
  ["http://a.example:8080/x", { host: "a.example", isHttps: false, hasRecord: true }],
  ["http://shop.localhost:8080", { host: "shop.localhost", isHttps: false, hasRecord: false }],
  ["https://203.0.113.7", { host: "203.0.113.7", isHttps: true, hasRecord: false }],
  ["https://[2001:db8::1]:8443", { host: "2001:db8::1", isHttps: true, hasRecord: false }],
])("the site of %s", (url, site) => {
  expect(siteOf(url)).toEqual(site);
});
