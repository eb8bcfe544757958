import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { certificateIssuer } from "./certificate.ts";

const HOUR_MS = 3_600_000;
const at = (hours: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + hours * HOUR_MS);
const NAMES = ["d00000000000000000000000", "db.example", "203.0.113.7", "127.0.0.1", "::1"];
const request = (change: object = {}) => ({
  ...{ names: NAMES, notBefore: at(-1), notAfter: at(24), authority: { name: "Test", notAfter: at(48) } },
  ...change,
});

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** Whether a client that trusts only this authority accepts the server under this name. */
async function isAccepted(server: { certificate: string; key: string }, authority: string, servername: string) {
  const listening = createServer({ cert: server.certificate, key: server.key });
  closing.push(() => listening.close());
  await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
  // A TCP server's address is an object.
  const { port } = listening.address() as AddressInfo;
  return await new Promise<boolean>((resolve) => {
    const client = connect({ host: "127.0.0.1", port, ca: authority, servername }, () => resolve(client.authorized));
    client.once("error", () => resolve(false));
    closing.push(() => client.destroy());
  });
}

describe("an issued certificate", () => {
  test("is accepted under each of its names by who trusts its authority, and by nobody else", async () => {
    const issued = await certificateIssuer.issue(request());
    const other = await certificateIssuer.issue(request());
    const certificate = new X509Certificate(issued.certificate);
    expect(NAMES.slice(0, 2).map((name) => certificate.checkHost(name))).toEqual(NAMES.slice(0, 2));
    expect(NAMES.slice(2).map((address) => certificate.checkIP(address) !== undefined)).toEqual([true, true, true]);
    expect(await isAccepted(issued, issued.authority.certificate, "db.example")).toBe(true);
    expect(await isAccepted(issued, issued.authority.certificate, "other.example")).toBe(false);
    expect(await isAccepted(issued, other.authority.certificate, "db.example")).toBe(false);
  });

  test("is good for its time, serves, and signs nothing", async () => {
    const { certificate: text, authority } = await certificateIssuer.issue(request());
    const certificate = new X509Certificate(text);
    expect([certificate.validFromDate, certificate.validToDate]).toEqual([at(-1), at(24)]);
    expect([certificate.ca, new X509Certificate(authority.certificate).ca]).toEqual([false, true]);
    expect(new X509Certificate(authority.certificate).validToDate).toEqual(at(48));
    expect(text).toMatch(/^-----BEGIN CERTIFICATE-----\n[\s\S]+-----END CERTIFICATE-----\n$/);
  });

  test("has a key of its own from the same authority when it is issued anew", async () => {
    const first = await certificateIssuer.issue(request());
    const second = await certificateIssuer.issue(request({ names: ["moved.example"], authority: first.authority }));
    expect(second.authority).toEqual(first.authority);
    expect(second.key).not.toBe(first.key);
    expect(await isAccepted(second, first.authority.certificate, "moved.example")).toBe(true);
  });
});
