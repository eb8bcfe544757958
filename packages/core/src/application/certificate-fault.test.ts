import { describe, expect, test } from "vitest";
import type { SeenCertificate } from "../ports/site-probe.ts";
import { certificateFault, certificateProblem, type FaultyCertificate } from "./certificate-fault.ts";

const now = new Date("2026-06-01T00:00:00Z");
const daysFromNow = (days: number) => new Date(now.getTime() + days * 86_400_000);
const seen = (startDays: number, endDays: number, fields: Partial<SeenCertificate> = {}): SeenCertificate => ({
  issuer: "Let's Encrypt",
  startsAt: daysFromNow(startDays),
  expiresAt: daysFromNow(endDays),
  isForName: true,
  problem: null,
  ...fields,
});

describe("a certificate", () => {
  test.each([
    ["that is good", seen(-30, 60), undefined],
    ["with two weeks left", seen(-76, 14), undefined],
    ["with less than two weeks left", seen(-77, 13), "ending"],
    ["for six days, with four left", seen(-2, 4), undefined],
    ["for six days, with half a day left", seen(-5.5, 0.5), "ending"],
    ["that has ended", seen(-91, -1), "expired"],
    ["that is not valid yet", seen(1, 91), "early"],
    ["for another name", seen(-30, 60, { isForName: false, problem: "It is for another name." }), "missing"],
    ["of an authority that the operator chose", seen(-30, 60, { problem: "It is not trusted." }), undefined],
    ["that is not presented", { failure: "None.", isReached: true }, "missing"],
    ["of a proxy that does not answer", { failure: "Nobody.", isReached: false }, "unreached"],
  ])("%s has the fault %s", (_name, certificate, fault) => {
    expect(certificateFault(certificate, now)).toBe(fault);
  });
});

describe("the problem with a certificate", () => {
  const HERE = { found: { addresses: ["203.0.113.7"], hasHidden: false }, serverAddresses: ["203.0.113.7"] };
  const ELSEWHERE = { ...HERE, found: { addresses: ["198.51.100.1"], hasHidden: false } };
  const NOWHERE = { ...HERE, found: { addresses: [], hasHidden: false } };
  const UNKNOWN = { ...ELSEWHERE, serverAddresses: [] };
  const MISSING = { fault: "missing", certificate: { failure: "None.", isReached: true } } as const;
  const ENDING = { fault: "ending", certificate: seen(-77, 13) } as const;
  const UNREACHED = { fault: "unreached", certificate: { failure: "Nobody.", isReached: false } } as const;
  const PORTS = "Check that ports 80 and 443 are open to the internet.";
  const problem = (fields: Omit<FaultyCertificate, "hasOtherEntries">, hasOtherEntries = false) =>
    certificateProblem("a.example.com", { ...fields, hasOtherEntries });

  test.each([
    ["missing", { ...MISSING, ...HERE }, true, `The proxy has no certificate for a.example.com. ${PORTS}`],
    [
      "missing, of Berth's own machine, which may be behind a CDN",
      { ...MISSING, ...UNKNOWN },
      false,
      `The proxy has no certificate for a.example.com. ${PORTS} This is as it should be if a CDN or another proxy in front presents its own certificate.`,
    ],
    [
      "missing, of Berth's own machine, without a DNS record",
      { ...MISSING, ...NOWHERE, serverAddresses: [] },
      true,
      expect.stringContaining("has no address. Add a DNS record that names the server's address."),
    ],
    [
      "missing, without a DNS record",
      { ...MISSING, ...NOWHERE },
      true,
      "The proxy has no certificate for a.example.com. a.example.com has no address. Add a DNS record that names 203.0.113.7.",
    ],
    [
      "missing, with the record of another server",
      { ...MISSING, ...ELSEWHERE },
      false,
      expect.stringMatching(
        /^The proxy has no certificate for a\.example\.com\. a\.example\.com resolves to another address, not to 203/,
      ),
    ],
    [
      "expired",
      { fault: "expired", certificate: seen(-91, -1), ...HERE } as const,
      true,
      `The certificate of a.example.com has expired. ${PORTS}`,
    ],
    [
      "ending",
      { ...ENDING, ...HERE },
      false,
      `The certificate of a.example.com ends on 2026-06-14 and was not renewed. ${PORTS}`,
    ],
    [
      "not valid yet",
      { fault: "early", certificate: seen(1, 91), ...HERE } as const,
      true,
      "The certificate of a.example.com is not valid before 2026-06-02. Check the clocks of this server and of Berth, or replace the certificate.",
    ],
    [
      "unreached",
      { ...UNREACHED, ...HERE },
      true,
      `https://a.example.com does not open: the proxy does not answer. ${PORTS}`,
    ],
    [
      "unreached, without a DNS record",
      { ...UNREACHED, ...NOWHERE },
      true,
      expect.stringMatching(
        /^https:\/\/a\.example\.com does not open: the proxy does not answer\. a\.example\.com has no address\./,
      ),
    ],
  ])("%s, says why and what to do", (_name, faulty, is_refused, reason) => {
    expect(problem(faulty)).toEqual({ reason, is_refused });
  });

  test.each([
    ["the firewall lets in only a CDN", { ...UNREACHED, ...ELSEWHERE }, false],
    ["Berth's own machine is behind another address", { ...UNREACHED, ...UNKNOWN }, false],
    ["a load balancer ends TLS in front of several servers", { ...MISSING, ...ELSEWHERE }, true],
  ])("is none where %s", (_name, faulty, hasOtherEntries) => {
    expect(problem(faulty, hasOtherEntries)).toBeUndefined();
  });

  test("has the same words whichever addresses DNS answers first, and whatever the connection said", () => {
    const of = (addresses: readonly string[], serverAddresses: readonly string[], failure: string) =>
      problem({
        ...MISSING,
        certificate: { failure, isReached: true },
        found: { addresses, hasHidden: false },
        serverAddresses,
      });
    const [one, other] = ["198.51.100.1", "198.51.100.2"];
    const [own, second] = ["203.0.113.7", "203.0.113.8"];
    expect(of([one, other], [own, second], "It ended.")).toEqual(of([other], [second, own], "It broke off."));
    const reached = { found: { addresses: [own], hasHidden: false }, serverAddresses: [own] };
    const unreached = (failure: string) =>
      problem({ ...UNREACHED, certificate: { failure, isReached: false }, ...reached });
    expect(unreached("It is refused.")).toEqual(unreached("It timed out."));
  });

  test("is named of several servers where the name resolves to this one", () => {
    expect(problem({ ...MISSING, ...HERE }, true)).toMatchObject({ is_refused: true });
  });
});
