import { connect, type Socket } from "node:net";
import { until } from "@berth/testing";
import { afterEach, describe, expect, test } from "vitest";
import { type Example, example } from "./example.fixture.ts";
import { byteLedger } from "./held-bytes.ts";

const SHARES = { perToken: 100, perTeam: 150, total: 300 };
const overloaded = expect.objectContaining({ code: "request.overloaded", retryAfterSeconds: 1 });

describe("bytes that requests hold", () => {
  test("are limited for a token and for a team, and given back", () => {
    const ledger = byteLedger(SHARES);
    const first = ledger({ token: "1", team: "a" });
    first.hold(100);
    const second = ledger({ token: "1", team: "a" });
    expect(() => second.hold(1)).toThrow(overloaded);
    const other = ledger({ token: "2", team: "a" });
    other.hold(50);
    expect(() => other.hold(1)).toThrow(overloaded);
    first.close();
    second.hold(100);
    expect([first.held, second.held, other.held]).toEqual([0, 100, 50]);
  });

  test("of one that is closed are nobody's any more", () => {
    const ledger = byteLedger(SHARES);
    const gone = ledger({ token: "1", team: "a" });
    gone.close();
    expect(() => gone.hold(1)).toThrow("The client did not wait for the answer.");
    gone.note(100);
    ledger({ token: "1", team: "a" }).hold(100);
  });

  test("of a team are never refused for what other teams hold", () => {
    const ledger = byteLedger(SHARES);
    const greedy = ["a", "b"].map((team) => ["1", "2", "3"].map((n) => ledger({ token: `${team}${n}`, team })));
    for (const requests of greedy) for (const request of requests) request.hold(50);
    // The total is used up, and each of four teams may have a quarter of it.
    const small = ledger({ token: "c", team: "c" });
    small.hold(70);
    const smaller = ledger({ token: "d", team: "d" });
    smaller.hold(70);
    expect(() => small.hold(30)).toThrow(overloaded);
    const fifth = ledger({ token: "e", team: "e" });
    fifth.hold(60);
  });

  test("are what was counted and nothing else, however it is opened and closed", () => {
    const ledger = byteLedger({ perToken: 1000, perTeam: 1000, total: 1000 });
    for (let round = 0; round < 100; round += 1) {
      const requests = Array.from({ length: 10 }, (_, n) => ledger({ token: `${n}`, team: `${n % 3}` }));
      for (const [n, request] of requests.entries()) n % 2 === 0 ? request.hold(90) : request.note(90);
      for (const request of requests) request.close();
    }
    ledger({ token: "1", team: "1" }).hold(1000);
  });
});

test.each(["/api/v1/notes", "/trpc/notes.list"])(
  "callers who leave while they are looked up hold nothing: %s",
  async (path) => {
    let looked = Promise.resolve();
    const api = example({
      byteShares: { perToken: 20_000, perTeam: 20_000, total: 20_000 },
      whileLookedUp: () => looked,
    });
    const { port } = new URL(await api.app.listen({ port: 0, host: "127.0.0.1" }));
    const headers = { authorization: "Bearer 1|all" };
    try {
      const { promise, resolve } = Promise.withResolvers<void>();
      looked = promise;
      const sockets = Array.from({ length: 30 }, () => connect(Number(port), "127.0.0.1"));
      for (const socket of sockets)
        socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer 1|all\r\n\r\n`);
      await until(() => api.look.count === 30, { what: "all are looked up" });
      for (const socket of sockets) socket.destroy();
      await until(async () => (await connectionsOf(api)) === 0, { what: "the server knows that they left" });
      resolve();
      await until(() => api.inputs.length === 30, { what: "their calls were made" });
      expect((await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status).toBe(200);
      expect(api.faults).toEqual([]);
    } finally {
      await api.app.close();
    }
  },
);

const connectionsOf = ({ app }: Pick<Example, "app">) =>
  new Promise<number>((resolve) => app.server.getConnections((_error, count) => resolve(count)));

describe("large bodies", () => {
  const apis: Example[] = [];
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    for (const { app } of apis.splice(0)) await app.close();
  });

  async function served() {
    const api = example({ byteShares: { perToken: 400_000, perTeam: 600_000, total: 2_000_000 } });
    apis.push(api);
    const { port } = new URL(await api.app.listen({ port: 0, host: "127.0.0.1" }));
    /** Sends only a part of the announced body. */
    const half = (token: string, { announced, sent }: { announced: number; sent: number }, path = "/api/v1/notes") => {
      const socket = connect(Number(port), "127.0.0.1");
      sockets.push(socket);
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      socket.on("error", () => undefined);
      socket.write(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n` +
          `content-length: ${announced}\r\n\r\n${" ".repeat(sent)}`,
      );
      return { socket, answer: () => answer };
    };
    return { ...api, half };
  }

  test.each(["/api/v1/notes", "/trpc/notes.create"])("of a token are refused beyond its share: %s", async (path) => {
    const { half } = await served();
    const both = [1, 2].map(() => half("1|all", { announced: 900_000, sent: 350_000 }, path));
    const refused = await until(() => both.map(({ answer }) => answer()).find((answer) => answer !== ""), {
      what: "the one that comes later is refused",
    });
    expect(refused).toMatch(/^HTTP\/1.1 503[\s\S]*retry-after: 1[\s\S]*request\.overloaded/i);
    for (const socket of sockets.splice(0)) socket.destroy();
    const whole = half("1|all", { announced: 300_000, sent: 300_000 }, path);
    await until(() => whole.answer() !== "", { what: "there is room again" });
    expect(whole.answer()).not.toContain("request.overloaded");
  });

  test("are counted as they arrive, not as they are announced", async () => {
    const { half } = await served();
    for (let n = 0; n < 5; n += 1) half("1|all", { announced: 1_000_000, sent: 20_000 });
    const whole = half("1|all", { announced: 200_000, sent: 200_000 });
    await until(() => whole.answer() !== "", { what: "it is answered" });
    expect(whole.answer()).not.toContain("request.overloaded");
  });
});
