import { createServer, type RequestListener } from "node:http";
import { createConnection, createServer as createTcpServer, type Server } from "node:net";
import { DomainError } from "@berth/core";
import { BUILT_IN_CHECK, type HealthCheck, type HttpProbe } from "@berth/core/application";
import type { Engine } from "@berth/core/ports";
import { afterEach, describe, expect, test } from "vitest";
import type { Connect } from "./ports.ts";
import { probeHttp, probeRelease } from "./probe.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(server: Server): Promise<{ host: string; port: number }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => new Promise((resolve) => server.close(() => resolve())));
  const address = server.address();
  return { host: "127.0.0.1", port: typeof address === "object" && address !== null ? address.port : 0 };
}

const serve = (listener: RequestListener) => listen(createServer(listener));
const never = () => new AbortController().signal;
const PROBE = BUILT_IN_CHECK.probe as HttpProbe;

describe("a probe by HTTP", () => {
  test("asks what the application wants to be asked", async () => {
    const asked: unknown[] = [];
    const upstream = await serve(({ method, url, headers }, response) => {
      asked.push([method, url, headers.host]);
      response.writeHead(204).end();
    });
    const probe: HttpProbe = { ...PROBE, method: "POST", path: "/up?full", host: "shop.example.com" };
    expect(await probeHttp(upstream, probe, { timeoutSeconds: 5, signal: never() })).toEqual({
      type: "answer",
      statusCode: 204,
      body: "",
    });
    expect(asked).toEqual([["POST", "/up?full", "shop.example.com"]]);
  });

  test("goes to another port of the release when it shall", async () => {
    const traffic = await serve((_request, response) => void response.writeHead(500).end());
    const health = await serve((_request, response) => void response.writeHead(200).end());
    expect(
      await probeHttp(traffic, { ...PROBE, port: health.port }, { timeoutSeconds: 5, signal: never() }),
    ).toMatchObject({ statusCode: 200 });
    expect(await probeHttp(traffic, PROBE, { timeoutSeconds: 5, signal: never() })).toMatchObject({ statusCode: 500 });
  });

  test("reads the answer when a text is looked for, and no more than it needs", async () => {
    const upstream = await serve((_request, response) => {
      response.write("ready");
      const timer = setInterval(() => response.write("x".repeat(65_536)), 1);
      response.on("close", () => clearInterval(timer));
    });
    const outcome = await probeHttp(upstream, { ...PROBE, text: "ready" }, { timeoutSeconds: 20, signal: never() });
    expect(outcome).toMatchObject({ type: "answer", statusCode: 200 });
    expect(outcome.type === "answer" && outcome.body.startsWith("ready")).toBe(true);
  });

  test("goes through the connection of a server whose addresses nobody else reaches", async () => {
    const near = await serve(({ headers }, response) => void response.end(`hello ${headers.host}`));
    const asked: unknown[] = [];
    const connect: Connect = async (address) => {
      asked.push(address);
      return createConnection(near);
    };
    const far = { host: "203.0.113.7", port: 3000 };
    const probe: HttpProbe = { ...PROBE, text: "hello" };
    const outcome = await probeHttp(far, { ...probe, port: 81 }, { timeoutSeconds: 5, signal: never(), connect });
    expect(outcome).toMatchObject({ type: "answer", statusCode: 200, body: `hello ${PROBE.host}` });
    expect(asked).toEqual([{ host: far.host, port: 81 }]);
    const lost: Connect = () => Promise.reject(new DomainError("server.unreachable", "Gone."));
    const refused = probeHttp(far, probe, { timeoutSeconds: 5, signal: never(), connect: lost });
    expect(await refused).toEqual({ type: "refused" });
  });

  test("does not wait for a body that nobody reads", async () => {
    const upstream = await serve((_request, response) => void response.write("never ends"));
    expect(await probeHttp(upstream, PROBE, { timeoutSeconds: 20, signal: never() })).toEqual({
      type: "answer",
      statusCode: 200,
      body: "",
    });
  });

  test("sees that nothing listens", async () => {
    const upstream = await serve(() => undefined);
    await closing.pop()?.();
    expect(await probeHttp(upstream, PROBE, { timeoutSeconds: 5, signal: never() })).toEqual({ type: "refused" });
  });

  test("sees that no answer comes in time", async () => {
    const upstream = await serve((_request, response) => void setTimeout(() => response.end(), 1000));
    expect(await probeHttp(upstream, PROBE, { timeoutSeconds: 0.1, signal: never() })).toEqual({ type: "timeout" });
  });

  test("sees that what answers is no HTTP", async () => {
    const server = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.resume();
      socket.end("220 smtp.example.com ready\r\n");
    });
    expect(await probeHttp(await listen(server), PROBE, { timeoutSeconds: 5, signal: never() })).toEqual({
      type: "not_http",
    });
  });

  test("sees that a plain server was asked for https", async () => {
    const upstream = await serve((_request, response) => response.end());
    expect(await probeHttp(upstream, { ...PROBE, scheme: "https" }, { timeoutSeconds: 5, signal: never() })).toEqual({
      type: "not_http",
    });
  });

  test("ends with its signal", async () => {
    const upstream = await serve(() => undefined);
    const controller = new AbortController();
    const outcome = probeHttp(upstream, PROBE, { timeoutSeconds: 20, signal: controller.signal });
    controller.abort();
    expect((await outcome).type).toBe("timeout");
  });
});

describe("a probe by command", () => {
  const check: HealthCheck = { ...BUILT_IN_CHECK, probe: { type: "command", script: "ready?" }, timeoutSeconds: 0 };
  const state = { resourceUuid: "r", deploymentUuid: "d", state: "running", upstream: null } as const;
  const rest = { restartCount: 0, exitCode: null, startedAt: null };
  const engineThat = (exec: Engine["exec"]) => ({ exec }) as Engine; // Only `exec` is called.
  const look = (exec: Engine["exec"]) =>
    probeRelease({ engine: engineThat(exec), connect: undefined }, { ...state, ...rest }, check, never());

  test("says how it exited", async () => {
    const outcome = await look(async () => ({ exitCode: 2, output: "no", isTruncated: false }));
    expect(outcome).toEqual({ type: "exit", exitCode: 2, output: "no" });
  });

  test("that took too long is told from one that failed", async () => {
    expect(await look(async () => ({ exitCode: 124, output: "", isTruncated: false }))).toEqual({ type: "timeout" });
  });

  test("says that there is nothing to run it in", async () => {
    const outcome = look(async () => {
      throw new DomainError("resource.not_running", "It does not run.");
    });
    expect(await outcome).toEqual({ type: "not_running" });
  });
});
