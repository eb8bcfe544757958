import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { certificateIssuer } from "./certificate.ts";
import { addressesOf, presentedCertificate } from "./site-probe.ts";

const HOST = "127.0.0.1";
const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listening(server: Server): Promise<number> {
  open.push(server);
  await once(server.listen(0, HOST), "listening");
  return (server.address() as AddressInfo).port; // It listens at TCP.
}

async function site(name: string, notAfter: Date): Promise<number> {
  const authority = { name: "Own authority", notAfter };
  const notBefore = new Date("2020-01-01T00:00:00Z");
  const { certificate: cert, key } = await certificateIssuer.issue({ names: [name], notBefore, notAfter, authority });
  const server = createTlsServer({ cert, key }, (socket) => socket.on("error", () => {}).end());
  return await listening(server.on("tlsClientError", () => {}));
}

const presented = (host: string, port: number, privateHosts = [HOST]) =>
  presentedCertificate({ host, port, server: HOST, privateHosts });

describe("the certificate of a site", () => {
  test("is what the server presents for its name, and why a browser refuses it", async () => {
    const port = await site("shop.example", new Date("2099-01-01T00:00:00Z"));
    expect(await presented("shop.example", port)).toEqual({
      issuer: "Own authority",
      startsAt: new Date("2020-01-01T00:00:00Z"),
      isForName: true,
      expiresAt: new Date("2099-01-01T00:00:00Z"),
      problem: expect.stringMatching(/^Browsers do not trust its authority/),
    });
    expect(await presented("other.example", port)).toMatchObject({
      isForName: false,
      problem: expect.stringMatching(/for another name/),
    });
  });

  test("is not asked for at a private address that is not allowed", async () => {
    const port = await site("shop.example", new Date("2099-01-01T00:00:00Z"));
    expect(await presented("shop.example", port, [])).toMatchObject({
      failure: expect.stringMatching(/is a private address or this machine/),
    });
  });

  test("is missing where the connection ends before, or speaks no TLS", async () => {
    const ending = await listening(createServer((socket) => socket.on("error", () => {}).destroy()));
    const plain = await listening(
      createServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 400 Bad\r\n\r\n")),
    );
    const none = await listening(createServer());
    open.pop()?.close();
    for (const port of [ending, plain]) {
      expect(await presented("shop.example", port)).toEqual({
        failure: expect.stringMatching(/^The proxy presents no certificate/),
        isReached: true,
      });
    }
    expect(await presented("shop.example", none)).toEqual({
      failure: expect.stringMatching(new RegExp(`^The proxy does not answer on port ${none}: `)),
      isReached: false,
    });
  });
});

describe("the addresses of a name", () => {
  test("leave out private ones that are not allowed, and say so", async () => {
    expect(await addressesOf("localhost", [])).toEqual({ addresses: [], hasHidden: true });
    expect((await addressesOf("localhost", ["*"])).addresses).toContain(HOST);
    expect(await addressesOf("203.0.113.7", [])).toEqual({ addresses: ["203.0.113.7"], hasHidden: false });
  });

  test("are none for a name that nobody has", async () => {
    expect(await addressesOf("nobody.invalid", [])).toEqual({ addresses: [], hasHidden: false });
  });
});
