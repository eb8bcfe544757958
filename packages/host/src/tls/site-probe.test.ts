import { createSocket } from "node:dgram";
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

  test("is missing where bytes arrive, but no certificate in time: the proxy does not answer", async () => {
    const silent = createServer((socket) => socket.on("error", () => {}));
    // A record of TLS that never becomes complete.
    const trickling = createServer((socket) => {
      socket.write(Buffer.from([22, 3, 3, 64, 0, 2]));
      const timer = setInterval(() => socket.write(Buffer.from([0])), 10);
      socket.on("error", () => {}).on("close", () => clearInterval(timer));
    });
    for (const server of [silent, trickling]) {
      const port = await listening(server);
      const by = { host: "shop.example", port, server: HOST, privateHosts: [HOST], secondsMax: 0.2 };
      expect(await presentedCertificate(by)).toEqual({
        failure: `The proxy does not answer on port ${port}: ${HOST} did not answer within 0.2 seconds.`,
        isReached: false,
      });
    }
  });
});

/** A name server with these addresses for every name; silent without them. */
async function nameServer(records?: { readonly A: readonly number[]; readonly AAAA?: readonly number[] }) {
  let questions = 0;
  const socket = createSocket("udp4");
  socket.on("message", (message, { port, address }) => {
    questions += 1;
    if (records === undefined) return;
    const question = message.subarray(12, message.indexOf(0, 12) + 5);
    const type = question.readUInt16BE(question.length - 4);
    const data = type === 1 ? records.A : records.AAAA;
    const header = Buffer.from([
      ...message.subarray(0, 2),
      0x81,
      0x80,
      0,
      1,
      0,
      data === undefined ? 0 : 1,
      0,
      0,
      0,
      0,
    ]);
    const answer = data === undefined ? [] : [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length, ...data];
    socket.send(Buffer.concat([header, question, Buffer.from(answer)]), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, HOST, resolve));
  const options = { nameServers: [`${HOST}:${socket.address().port}`], secondsMax: 0.5 };
  return { options, questions: () => questions, close: () => socket.close() };
}

describe("the addresses of a name", () => {
  test("are those that DNS answers, of both families", async () => {
    const dns = await nameServer({
      A: [203, 0, 113, 7],
      AAAA: [0x20, 1, 0xd, 0xb8, ...Array.from({ length: 11 }, () => 0), 7],
    });
    const plain = await nameServer({ A: [10, 0, 0, 5] });
    try {
      const both = { addresses: ["203.0.113.7", "2001:db8::7"], hasHidden: false };
      expect(await addressesOf("shop.example", [], dns.options)).toEqual(both);
      expect(await addressesOf("shop.example", [], plain.options)).toEqual({ addresses: [], hasHidden: true });
    } finally {
      dns.close();
      plain.close();
    }
  });

  test("occupy no thread of the process while the name server is silent, and end in time", async () => {
    const dns = await nameServer();
    try {
      const asked = Array.from({ length: 8 }, (_, n) => addressesOf(`shop${n}.example`, [], dns.options));
      expect(process.getActiveResourcesInfo()).not.toContain("GetAddrInfoReqWrap");
      const answers = await Promise.all(asked);
      expect(answers).toEqual(answers.map(() => ({ addresses: [], hasHidden: false })));
      expect(dns.questions()).toBeGreaterThan(0);
    } finally {
      dns.close();
    }
  });

  test("leave out private ones that are not allowed, and say so", async () => {
    expect(await addressesOf("localhost", [])).toEqual({ addresses: [], hasHidden: true });
    for (const name of ["localhost", "shop.localhost"]) {
      expect((await addressesOf(name, ["*"])).addresses).toContain(HOST);
    }
    expect(await addressesOf("203.0.113.7", [])).toEqual({ addresses: ["203.0.113.7"], hasHidden: false });
  });

  test("are none for a name that nobody has", async () => {
    expect(await addressesOf("nobody.invalid", [])).toEqual({ addresses: [], hasHidden: false });
  });
});
