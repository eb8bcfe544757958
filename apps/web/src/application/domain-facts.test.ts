import { expect, test } from "vitest";
import { type DomainCheck, domainFacts } from "./domain-facts.ts";

const CHECK: DomainCheck = {
  url: "https://shop.example.com",
  addresses: ["203.0.113.7"],
  dns_problem: null,
  route_problem: null,
  certificate: { issuer: "Let's Encrypt", expires_at: "2026-08-01T12:00:00.000000Z" },
  certificate_problem: null,
};
const found = (check: Partial<DomainCheck>) => domainFacts({ ...CHECK, ...check });
const facts = (check: Partial<DomainCheck>) => Object.fromEntries(found(check).map(({ name, text }) => [name, text]));
const tones = (check: Partial<DomainCheck>) => found(check).map(({ tone }) => tone);

test("a URL that works is shown with its addresses and the end of its certificate", () => {
  expect(facts({})).toEqual({
    DNS: "resolves to 203.0.113.7",
    Route: "the proxy forwards it",
    Certificate: expect.stringMatching(/^of Let's Encrypt, until .*2026/),
  });
});

test("problems take the place of what would be there", () => {
  expect(facts({ dns_problem: "No address.", route_problem: "Stopped.", certificate_problem: "Untrusted." })).toEqual({
    DNS: "No address.",
    Route: "Stopped.",
    Certificate: expect.stringMatching(/^Untrusted\. It is of Let's Encrypt, until/),
  });
  expect(facts({ certificate: null, certificate_problem: "None yet." }).Certificate).toBe("None yet.");
});

test("plain http has no certificate, and a name of this machine no record", () => {
  const own = facts({ url: "http://shop.localhost:8080", addresses: [], certificate: null });
  expect(own).toMatchObject({ DNS: "needs no public record", Certificate: "none: it is plain http" });
});

test("each problem is marked as one, and what has nothing to check is not marked as good", () => {
  expect(tones({})).toEqual(["good", "good", "good"]);
  expect(tones({ dns_problem: "No address." })).toEqual(["bad", "good", "good"]);
  expect(tones({ route_problem: "Stopped.", certificate_problem: "Untrusted." })).toEqual(["good", "bad", "bad"]);
  expect(tones({ certificate: null, certificate_problem: "None yet." })).toEqual(["good", "good", "bad"]);
  expect(tones({ certificate: null })).toEqual(["good", "good", "off"]);
  expect(tones({ url: "http://shop.localhost", addresses: [], certificate: null })).toEqual(["off", "good", "off"]);
});
