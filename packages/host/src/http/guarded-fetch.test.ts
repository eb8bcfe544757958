import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { networkInterfaces } from "node:os";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { guardedFetch } from "./guarded-fetch.ts";
import { HttpFault } from "./http-fault.ts";
import { mayConnect } from "./private-hosts.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Starts a server and returns its port. */
async function listening(answer: RequestListener, host = "127.0.0.1"): Promise<number> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port; // A TCP server's address is an object.
}

const LIMITS = { secondsMax: 5, bytesMax: 1000 };
const open = guardedFetch({ ...LIMITS, allowedPrivateHosts: ["127.0.0.1"] });
const closed = guardedFetch({ ...LIMITS, allowedPrivateHosts: [] });

async function faultOf(work: Promise<unknown>): Promise<HttpFault> {
  const fault = await work.catch((error: unknown) => error);
  if (fault instanceof HttpFault) return fault;
  throw new Error("It did not fail as it should.", { cause: fault });
}

describe("guardedFetch", () => {
  test("answers status, headers and body of a host that is allowed", async () => {
    const port = await listening((_request, response) => response.writeHead(201, { "x-own": "1" }).end("hello"));
    const answer = await open(`http://127.0.0.1:${port}/`);
    expect([answer.status, answer.headers.get("x-own"), await answer.text()]).toEqual([201, "1", "hello"]);
  });

  test("answers a status that has no body", async () => {
    const port = await listening((_request, response) => response.writeHead(204).end());
    expect(await (await open(`http://127.0.0.1:${port}/`)).text()).toBe("");
  });

  test.each(["127.0.0.1", "localhost", "[::1]", "2130706433", "169.254.169.254"])(
    "connects to no private address: %s",
    async (host) => {
      let isAsked = false;
      const port = await listening((_request, response) => {
        isAsked = true;
        response.end();
      });
      expect((await faultOf(closed(`http://${host}:${port}/`))).reason).toBe("private_address");
      expect(isAsked).toBe(false);
    },
  );

  const isPublic = (address: string) => mayConnect(address, address, [], () => false);
  const publicOwn = Object.values(networkInterfaces())
    .flatMap((all = []) => all)
    .find(({ address, family }) => family === "IPv4" && isPublic(address))?.address;
  test.skipIf(publicOwn === undefined).each([
    ["http", publicOwn],
    ["https", publicOwn],
    ["https", `[::ffff:${publicOwn}]`],
  ])(`connects to no public address of this machine: %s://%s`, async (scheme, host) => {
    let connections = 0;
    const server = createTcpServer(() => void connections++);
    await new Promise<void>((resolve) => server.listen(0, resolve));
    const { port } = server.address() as AddressInfo; // A TCP server's address is an object.
    expect((await faultOf(closed(`${scheme}://${host}:${port}/`))).reason).toBe("private_address");
    server.close();
    expect(connections).toBe(0);
  });

  test("follows no redirect into a private network", async () => {
    const port = await listening((_request, response) =>
      response.writeHead(302, { location: "http://10.0.0.1/" }).end(),
    );
    const fault = await faultOf(open(`http://127.0.0.1:${port}/`));
    expect([fault.reason, fault.host]).toEqual(["private_address", "10.0.0.1"]);
  });

  test("gives credentials to no other origin", async () => {
    let seen: string | undefined = "none";
    const other = await listening((request, response) => {
      seen = request.headers.authorization;
      response.end();
    });
    const port = await listening((_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${other}/` }).end(),
    );
    await open(`http://127.0.0.1:${port}/`, { headers: { authorization: "token secret" } });
    expect(seen).toBeUndefined();
  });

  test("reads no more than it may, also of what is compressed", async () => {
    const port = await listening((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(100_000))),
    );
    expect((await faultOf(open(`http://127.0.0.1:${port}/`))).reason).toBe("too_large");
  });

  test("reads no JSON of more values than any answer has, whatever it is called", async () => {
    const large = guardedFetch({ secondsMax: 5, bytesMax: 1_000_000, allowedPrivateHosts: ["127.0.0.1"] });
    for (const type of ["application/json", "text/plain"]) {
      const port = await listening((_request, response) =>
        response.writeHead(200, { "content-type": type }).end(`[${"[],".repeat(50_000)}[]]`),
      );
      expect((await faultOf(large(`http://127.0.0.1:${port}/`))).reason).toBe("too_large");
    }
  });

  test.each([
    ["no answer", (() => undefined) satisfies RequestListener],
    ["half an answer", ((_request, response) => response.writeHead(200).write("x")) satisfies RequestListener],
  ])("waits no longer than it may for %s", async (_, answer) => {
    const port = await listening(answer);
    const hasty = guardedFetch({ ...LIMITS, secondsMax: 0.2, allowedPrivateHosts: ["127.0.0.1"] });
    expect((await faultOf(hasty(`http://127.0.0.1:${port}/`))).reason).toBe("timed_out");
  });

  test("ends with its caller's signal", async () => {
    const port = await listening(() => undefined);
    const given = new AbortController();
    const call = faultOf(open(`http://127.0.0.1:${port}/`, { signal: given.signal }));
    given.abort();
    expect((await call).reason).toBe("aborted");
  });

  test("tells what broke off, with the reason", async () => {
    const port = await listening((request) => request.socket.destroy());
    const fault = await faultOf(open(`http://127.0.0.1:${port}/`));
    expect([fault.reason, fault.message]).toEqual(["broken_off", expect.stringContaining("127.0.0.1")]);
  });
});
