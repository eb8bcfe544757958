import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary-folder.fixture.ts";
import { checkDomains, type DomainProbe, networkProbe, openedUrls } from "./domains.ts";

const DAY_MS = 24 * 3600 * 1000;
const inDays = (days: number) => new Date(Date.now() + (days + 0.5) * DAY_MS);

const probe: DomainProbe = {
  async resolve(host) {
    if (host.startsWith("unknown.")) throw new Error("ENOTFOUND");
  },
  async certificateEnd(host) {
    if (host.startsWith("broken.")) throw new Error("self-signed certificate");
    return inDays(host.startsWith("late.") ? 3 : 80);
  },
};

test.each([
  ["http://a.test", [["domain a.test", "ok", "has an address"]]],
  ["https://a.test/path", [["domain a.test", "ok", "has an address and a certificate for 80 days"]]],
  ["https://late.test", [["domain late.test", "warning", "Its certificate ends in 3 days."]]],
  ["https://broken.test", [["domain broken.test", "problem", "https does not work: self-signed certificate."]]],
  ["http://unknown.test", [["domain unknown.test", "problem", "It has no address."]]],
  // Every machine resolves these names to itself.
  ["http://hello.localhost:8080", []],
  ["http://203.0.113.7", []],
  ["http://[::1]:8080", []],
  ["not a url", []],
])("says of %s what is wrong and what to do", async (url, expected) => {
  const findings = await checkDomains([url, url], probe);
  expect(findings.map(({ subject, state, message }) => [subject, state, message])).toEqual(expected);
  for (const { state, remedy } of findings) expect(remedy !== undefined).toBe(state !== "ok");
});

test("connects to the port of the proxy, not to the container's in fqdn", async () => {
  const app = { fqdn: "https://a.test:3000", urls: ["https://a.test"] };
  const container = { fqdn: "https://b.test:4000", urls: ["https://b.test:8443"] };
  const asked: string[] = [];
  await checkDomains(openedUrls([app], [{ applications: [container] }, {}]), {
    ...probe,
    async certificateEnd(host, port) {
      asked.push(`${host}:${port}`);
      return inDays(80);
    },
  });
  expect(asked.sort()).toEqual(["a.test:443", "b.test:8443"]);
});

test("looks at the first 200 only, and says how many are left", async () => {
  const urls = Array.from({ length: 203 }, (_, n) => `http://a${n}.test`);
  expect((await checkDomains(urls, probe)).at(-1)?.message).toBe("3 more were not checked");
});

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port; // A TCP server has an address while it listens.
}

test("asks the host itself: one that nobody trusts, one without TLS, and one that is not there", async () => {
  using folder = temporaryFolder();
  const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(folder.path, name));
  const argv = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9"];
  execFileSync("openssl", [...argv, "-subj", "/CN=localhost", "-keyout", key ?? "", "-out", cert ?? ""], {
    stdio: "ignore",
  });
  const tls = createTlsServer({ key: readFileSync(key ?? ""), cert: readFileSync(cert ?? "") });
  const plain = createTcpServer((socket) => socket.resume().end("no TLS here"));
  try {
    const [tlsPort, plainPort] = [await portOf(tls), await portOf(plain)];
    await expect(networkProbe.certificateEnd("localhost", tlsPort)).rejects.toThrow(/self-signed/);
    await expect(networkProbe.certificateEnd("localhost", plainPort)).rejects.toThrow();
    await new Promise((resolve) => plain.close(resolve));
    await expect(networkProbe.certificateEnd("localhost", plainPort)).rejects.toThrow(/ECONNREFUSED/);
  } finally {
    tls.close();
    plain.close();
  }
});
