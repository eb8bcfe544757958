import { describe, expect, test } from "vitest";
import type { DatabaseRecord } from "../ports/database.ts";
import { certificateChange, databaseCertificate, wantedCertificate } from "./database-certificate.ts";

const NOW = new Date("2030-01-01T00:00:00Z");
const later = (days: number) => new Date(NOW.getTime() + days * 86_400_000);
const database = (server_ip = "203.0.113.7", enable_ssl = "true") =>
  ({ uuid: "d1", placement: { server_ip }, fields: { enable_ssl } }) as unknown as DatabaseRecord;

function issued() {
  const wanted = wantedCertificate(database(), undefined, NOW);
  if (wanted === undefined) throw new Error("Nothing is issued.");
  const made = { authority: { certificate: "ca", key: "ca-key" }, certificate: "c", key: "k" };
  const { secrets } = certificateChange(wanted, undefined, made);
  return databaseCertificate(secrets);
}

describe("the certificate of a database", () => {
  test("is for every name that clients call it by", () => {
    const names = (ip?: string) => wantedCertificate(database(ip), undefined, NOW)?.names;
    expect(names()).toEqual(["d1", "203.0.113.7", "localhost", "127.0.0.1", "::1"]);
    expect(names("host.docker.internal")).toEqual(["d1", "localhost", "127.0.0.1", "::1"]);
  });

  test("is issued for one that offers TLS only, with an authority of its own", () => {
    expect(wantedCertificate(database("h", "false"), undefined, NOW)).toBeUndefined();
    expect(wantedCertificate(database(), undefined, NOW)).toMatchObject({
      ...{ notBefore: later(-1), notAfter: later(730), authority: { notAfter: later(3650) } },
    });
  });

  test("stays while it has its names and a year left, and is then renewed by the same authority", () => {
    const kept = issued();
    expect(wantedCertificate(database(), kept, later(365))).toBeUndefined();
    const same = { authority: { certificate: "ca", key: "ca-key" } };
    expect(wantedCertificate(database(), kept, later(366))).toMatchObject(same);
    expect(wantedCertificate(database("198.51.100.1"), kept, NOW)).toMatchObject(same);
  });

  test("gets another authority where the old one would end first", () => {
    const kept = issued();
    expect(wantedCertificate(database(), kept, later(2920))).toMatchObject({ authority: { key: "ca-key" } });
    expect(wantedCertificate(database(), kept, later(2921))).toMatchObject({ authority: { notAfter: later(6571) } });
  });

  test("is public but for its keys", () => {
    const wanted = wantedCertificate(database(), undefined, NOW);
    const made = { authority: { certificate: "ca", key: "hush" }, certificate: "c", key: "hush" };
    const { secrets, ...open } = certificateChange(wanted ?? expect.fail(), undefined, made);
    expect(open).toEqual({ fields: { ca_certificate: "ca" }, certificate_expires_at: later(730) });
    expect(JSON.stringify(open)).not.toContain("hush");
    expect(databaseCertificate(secrets)).toMatchObject({ authorityExpiresAt: later(3650).toISOString(), key: "hush" });
  });
});
