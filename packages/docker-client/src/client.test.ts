import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SshHost, sshHost } from "@berth/host";
import { hasSshd, makeSshd, type Sshd } from "@berth/host/testing";
import type Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { dockerClient } from "./client.ts";

if (!hasSshd) console.log("Skipped the tests of the engine's client over SSH: no sshd is installed (openssh-server)");

describe.runIf(hasSshd)("a connection that dies under a question to the engine", () => {
  let sshd: Sshd;
  let folder: string;
  let host: SshHost;
  let engine: Server | undefined;
  let asked: string[] = [];

  beforeAll(async () => {
    sshd = await makeSshd();
    await sshd.start();
    folder = mkdtempSync(join(tmpdir(), "berth-client-"));
    host = sshHost({
      name: "far",
      ip: "127.0.0.1",
      port: sshd.port,
      user: sshd.user,
      connectTimeoutSeconds: 10,
      privateKey: async () => sshd.privateKey,
      hostKey: null,
      onHostKey: async () => {},
      bridgeFolder: folder,
    });
  });
  afterEach(() => {
    engine?.close();
    engine?.closeAllConnections();
  });
  afterAll(async () => {
    await host.close();
    await sshd.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** An engine that handles the first request with a listener, and answers the others normally. */
  const engineThat = async (first: RequestListener): Promise<Docker> => {
    asked = [];
    const path = join(folder, `${Math.random()}.sock`);
    engine = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      if (asked.length === 1) return first(request, response);
      response.setHeader("content-type", "application/json").end(JSON.stringify({ ID: "well" }));
    }).listen(path);
    await once(engine, "listening");
    return dockerClient(host, path);
  };
  const cutBefore: RequestListener = () => sshd.cut();
  const cutWithin: RequestListener = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.write('{"ID": "ha', () => setTimeout(() => sshd.cut(), 50));
  };

  test.each([
    ["before the answer", cutBefore],
    ["within the answer", cutWithin],
  ])("%s: what only reads is asked again", async (_title, first) => {
    const docker = await engineThat(first);
    expect(await docker.info()).toEqual({ ID: "well" });
    expect(asked).toEqual(["GET /info", "GET /info"]);
  });

  test.each([
    ["before the answer", cutBefore],
    ["within the answer", cutWithin],
  ])("%s: what changes something is told to have failed, and not done twice", async (_title, first) => {
    const docker = await engineThat(first);
    await expect(docker.getContainer("x").wait()).rejects.toThrow();
    expect(asked).toEqual(["POST /containers/x/wait"]);
    expect(await docker.info()).toEqual({ ID: "well" });
  });

  test("is asked five times at most", async () => {
    const docker = await engineThat(cutBefore);
    engine?.removeAllListeners("request").on("request", (request, response) => {
      asked.push(request.url ?? "");
      cutBefore(request, response);
    });
    await expect(docker.info()).rejects.toThrow();
    expect(asked).toHaveLength(5);
  });

  test("leaves no dead connection for the next question, also with one under way", async () => {
    const docker = await engineThat((_request, response) => response.flushHeaders());
    const waiting = docker
      .getContainer("x")
      .wait()
      .catch((error: Error) => error);
    await Promise.all([docker.info(), docker.info(), docker.info()]);
    sshd.cut();
    expect(await waiting).toBeInstanceOf(Error);
    expect(await docker.getContainer("y").wait()).toEqual({ ID: "well" });
  });

  test("leaves an answer that says no as it is", async () => {
    const docker = await engineThat((_request, response) => {
      response.writeHead(500, { "content-type": "application/json" }).end('{"message": "no"}');
    });
    await expect(docker.info()).rejects.toMatchObject({ statusCode: 500 });
    expect(asked).toHaveLength(1);
  });
});
