import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { OriginCredential } from "@berth/core";
import { bucketProblem } from "@berth/core/backup";
import { type S3Server, startS3Server } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { digest } from "./content.ts";
import { objectStorage } from "./object-storage.ts";
import { atPace, type Pace } from "./pace.ts";
import { partBytes } from "./s3.ts";

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server();
});
afterAll(() => server.close());

const never = () => new AbortController().signal;
const storage = (change: Partial<S3Server & { allowed: readonly string[]; pace: Pace }> = {}) => {
  const { endpoint, bucket, key, secret } = { ...server, ...change };
  const options = {
    allowedPrivateHosts: change.allowed ?? ["127.0.0.1"],
    ...(change.pace === undefined ? {} : { pace: change.pace }),
  };
  const credential = new OriginCredential([endpoint], { key, secret });
  return objectStorage(options, { name: "Far", endpoint, bucket, region: "eu-central-1" }, credential);
};
async function* chunksOf(data: Uint8Array) {
  for (let at = 0; at < data.length; at += 65_536) yield data.subarray(at, at + 65_536);
}

test("gives back what was sent to it, in several parts", async () => {
  const data = randomBytes(20_000_000);
  const far = storage();
  await far.put("db/one.dump", chunksOf(data), { sizeBytes: data.length, signal: never() });
  expect(await digest(far.get("db/one.dump", never()))).toEqual(await digest(chunksOf(data)));
  expect(server.objects()).toEqual(["db/one.dump"]);
  await far.remove("db/one.dump", never());
  await far.remove("db/one.dump", never());
  expect(server.objects()).toEqual([]);
  await expect(digest(far.get("db/one.dump", never()))).rejects.toMatchObject({ code: "resource.not_found" });
});

test("sends what is larger than usual parts come to in larger parts", () => {
  const TERABYTE = 1024 ** 4;
  expect(partBytes(TERABYTE / 10)).toBe(16 * 1024 * 1024);
  for (const sizeBytes of [TERABYTE / 4, TERABYTE, 5 * TERABYTE]) {
    expect(Math.ceil(sizeBytes / partBytes(sizeBytes))).toBeLessThan(10_000);
  }
});

test.each([
  ["a bucket that is not there", { bucket: "other" }, /has no bucket other/],
  ["a wrong secret", { secret: "wrong" }, /the secret is wrong/],
  ["a key that is not known", { key: "NOBODY" }, /does not know the key/],
  ["a place where nothing listens", { endpoint: "http://127.0.0.1:1" }, "nothing listens at its endpoint"],
])("says of %s what is wrong", async (_, change, message) => {
  await expect(storage(change).put("x", chunksOf(Buffer.from("x")), { sizeBytes: 1, signal: never() })).rejects.toThrow(
    message,
  );
  expect(server.objects()).toEqual([]);
});

describe("a bucket that is tried", () => {
  const probe = () => ({ key: "probe", content: randomBytes(64), signal: never() });

  test("is good when it gives back what was written, and has nothing of it afterwards", async () => {
    expect(await bucketProblem(storage(), probe())).toBeUndefined();
    expect(server.objects()).toEqual([]);
  });

  test.each([
    [{ secret: "wrong" }, "The S3 storage Far cannot be used: the secret is wrong."],
    [{ bucket: "other" }, "The S3 storage Far cannot be used: it has no bucket other."],
    [{ allowed: [] }, expect.stringMatching(/127\.0\.0\.1 is a private address.* BERTH_ALLOWED_PRIVATE_HOSTS/)],
  ])("with %j is no good, and says why", async (change, problem) => {
    expect(await bucketProblem(storage(change), probe())).toEqual(problem);
    expect(server.objects()).toEqual([]);
  });

  test("is no good when it gives back something else, or does not answer in time", async () => {
    const damaged = { ...storage(), get: () => chunksOf(randomBytes(64)) };
    expect(await bucketProblem(damaged, probe())).toBe("It returned different bytes than were written to it.");
    const late = { ...probe(), signal: AbortSignal.abort() };
    expect(await bucketProblem(storage(), late)).toBe("It did not answer in time.");
    expect(server.objects()).toEqual([]);
  });
});

test("connects to no private address that is not allowed, by address or by name", async () => {
  const { port } = new URL(server.endpoint);
  for (const endpoint of [server.endpoint, `http://localhost:${port}`, `http://[::1]:${port}`]) {
    await expect(
      storage({ endpoint, allowed: [] }).put("x", chunksOf(Buffer.from("x")), { sizeBytes: 1, signal: never() }),
    ).rejects.toMatchObject({
      code: "cloud.refused",
    });
  }
  expect(server.objects()).toEqual([]);
});

test("ends an upload that is aborted, and leaves nothing behind", async () => {
  const stop = new AbortController();
  async function* endless() {
    for (let at = 0; ; at += 1) {
      if (at === 40) stop.abort();
      yield Buffer.alloc(1_000_000);
    }
  }
  await expect(storage().put("x", endless(), { sizeBytes: 0, signal: stop.signal })).rejects.toMatchObject({
    code: "deploy.cancelled",
  });
  expect(server.objects()).toEqual([]);
});

describe("an upload that is aborted while the storage takes it", () => {
  /** Accepts uploads in parts and their removal, but never confirms a part. */
  async function slowStorage(puts: number) {
    const asked: string[] = [];
    const taking = Promise.withResolvers<void>();
    const slow = createServer(({ method = "" }: IncomingMessage, response) => {
      asked.push(method);
      if (asked.filter((one) => one === "PUT").length === puts) taking.resolve();
      if (method !== "PUT") response.end(method === "POST" ? "<R><UploadId>one</UploadId></R>" : undefined);
    });
    slow.listen(0, "127.0.0.1");
    await once(slow, "listening");
    const { port } = slow.address() as AddressInfo; // it listens by TCP
    onTestFinished(() => {
      slow.closeAllConnections();
      slow.close();
    });
    return { asked, taking: taking.promise, endpoint: `http://127.0.0.1:${port}` };
  }

  test.each([
    ["is not sent again", 1_000_000, ["PUT"]],
    ["has its pieces removed", 20_000_000, ["POST", "PUT", "PUT", "DELETE"]],
  ])("%s", async (_, bytes, wanted) => {
    const { asked, taking, endpoint } = await slowStorage(wanted.filter((one) => one === "PUT").length);
    const stop = new AbortController();
    const content = chunksOf(Buffer.alloc(bytes));
    const sent = storage({ endpoint }).put("x", content, { sizeBytes: bytes, signal: stop.signal });
    void taking.then(() => stop.abort());
    await expect(sent).rejects.toMatchObject({ code: "deploy.cancelled" });
    // The client retries an interrupted request within this time.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(asked).toEqual(wanted);
  });
});

describe("a storage that sends without end", () => {
  async function endlessStorage(status: number) {
    let sentBytes = 0;
    const piece = "x".repeat(64_000);
    const endless = createServer((_request, response) => {
      response.writeHead(status, { "content-type": "application/xml" });
      response.write("<Error><Message>");
      const more = () => {
        while (!response.destroyed && response.write(piece)) sentBytes += piece.length;
      };
      response.on("drain", more);
      more();
    });
    endless.listen(0, "127.0.0.1");
    await once(endless, "listening");
    const { port } = endless.address() as AddressInfo; // it listens by TCP
    onTestFinished(() => {
      endless.closeAllConnections();
      endless.close();
    });
    return { far: storage({ endpoint: `http://127.0.0.1:${port}` }), sentBytes: () => sentBytes };
  }

  test.each([403, 500])("is not read for ever when it refuses with %d", async (status) => {
    const { far, sentBytes } = await endlessStorage(status);
    await expect(digest(far.get("x", never()))).rejects.toMatchObject({ code: "cloud.failed" });
    const put = far.put("x", chunksOf(Buffer.from("x")), { sizeBytes: 1, signal: never() });
    await expect(put).rejects.toMatchObject({ code: "cloud.failed" });
    expect(sentBytes()).toBeLessThan(100_000_000);
  });

  test("is not parsed beyond what a refusal or a page of a list needs", async () => {
    const long = createServer((_request, response) =>
      response.writeHead(403).end(`<Error>${"<a/>".repeat(40_000)}</Error>`),
    );
    long.listen(0, "127.0.0.1");
    await once(long, "listening");
    onTestFinished(() => void long.close());
    const { port } = long.address() as AddressInfo; // it listens by TCP
    const far = storage({ endpoint: `http://127.0.0.1:${port}` });
    await expect(digest(far.get("x", never()))).rejects.toThrow("more than any S3 storage does");
  });

  test("is not read for ever when it lists", async () => {
    const { far, sentBytes } = await endlessStorage(200);
    await far.remove("x", never()).catch(() => undefined);
    expect(sentBytes()).toBeLessThan(100_000_000);
  });
});

describe("a storage that sends byte by byte", { timeout: 30_000 }, () => {
  const pace = { seconds: 0.5, bytesMin: 100 };

  /**
   * Breaks off in the end, so that a test of a reader who waits for all of it fails and does not hang.
   *
   * @param begins What it sends at once, of its head or body.
   */
  async function slowStorage(begins: string, bytesMax = pace.bytesMin / 2): Promise<string> {
    const slow = createTcpServer((socket) => {
      socket.on("error", () => undefined).write(begins);
      let bytes = 0;
      const timer = setInterval(() => {
        bytes += 1;
        if (bytes <= bytesMax) socket.write("x");
        else socket.destroy();
      }, 50);
      socket.once("close", () => clearInterval(timer));
    }).listen(0, "127.0.0.1");
    await once(slow, "listening");
    onTestFinished(() => void slow.close());
    return `http://127.0.0.1:${(slow.address() as AddressInfo).port}`; // it listens by TCP
  }

  test.each([
    ["an object", "HTTP/1.1 200 OK\r\nContent-Length: 4000000000\r\n\r\n", /it sent \d+ bytes in 0.5 seconds/],
    ["a refusal", "HTTP/1.1 403 Forbidden\r\nContent-Length: 4000\r\n\r\n", /it sent \d+ bytes in 0.5 seconds/],
    ["its head", "HTTP/1.1 200 OK\r\nX-Slow: ", "no answer within 0.5 seconds"],
  ])("is given up: %s", async (_, begins, message) => {
    const far = storage({ endpoint: await slowStorage(begins), pace });
    await expect(digest(far.get("x", never()))).rejects.toThrow(message);
  });

  test("that breaks off in a refusal is not waited for", async () => {
    const endpoint = await slowStorage("HTTP/1.1 403 Forbidden\r\nContent-Length: 4000\r\n\r\n", 1);
    const far = storage({ endpoint });
    await expect(digest(far.get("x", never()))).rejects.toMatchObject({ code: "cloud.failed" });
  });

  test("is waited for while its reader takes long", async () => {
    async function* chunks() {
      yield Buffer.alloc(1);
      yield Buffer.alloc(1);
    }
    let bytes = 0;
    for await (const chunk of atPace(chunks(), pace)) {
      bytes += chunk.length;
      await new Promise((resolve) => setTimeout(resolve, pace.seconds * 1100));
    }
    expect(bytes).toBe(2);
  });
});

test("repeats no more than a sentence of what a storage says", async () => {
  const long = createServer((_request, response) =>
    response
      .writeHead(403)
      .end(`<Error><Code>${"A".repeat(50_000)}</Code><Message>${"b".repeat(50_000)}</Message></Error>`),
  );
  long.listen(0, "127.0.0.1");
  await once(long, "listening");
  onTestFinished(() => void long.close());
  const far = storage({ endpoint: `http://127.0.0.1:${(long.address() as AddressInfo).port}` }); // it listens by TCP
  const refused = await digest(far.get("x", never())).catch((error: Error) => error.message);
  expect([typeof refused, String(refused).length < 1000]).toEqual(["string", true]);
  expect(refused).toMatch(/it answered A+…: b+…/);
});
