import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { localHost } from "@berth/host";
import type Docker from "dockerode";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { dockerClient } from "./client.ts";

type Answer = readonly [status: number, body?: object | string];

const NAME = "berth-x";

describe("a call whose answer is lost or damaged", () => {
  let folder: string;
  let engine: Server | undefined;
  let asked: string[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-again-"));
  });
  afterEach(() => {
    engine?.close();
    engine?.closeAllConnections();
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** An engine that handles the first request with a listener, and gives these answers to the next ones. */
  async function engineThat(first: RequestListener, ...answers: readonly Answer[]): Promise<Docker> {
    asked = [];
    const path = join(folder, `${Math.random()}.sock`);
    engine = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      if (asked.length === 1) return first(request, response);
      const [status, body] = answers[asked.length - 2] ?? [500, { message: "Nobody expected this call" }];
      response.writeHead(status, { "content-type": "application/json" });
      response.end(typeof body === "object" ? JSON.stringify(body) : body);
    }).listen(path);
    await once(engine, "listening");
    return dockerClient(localHost("here"), path);
  }
  const cut: RequestListener = (request) => request.socket.destroy();
  const damage: RequestListener = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end('{"ID": "\u0000');
  };
  const breakOff: RequestListener = (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"ID": "ha', () => request.socket.destroy());
  };
  const babble: RequestListener = (request) => void request.socket.end("HTP/1.1 2\0\0 OK\r\n\r\n");

  test.each([
    ["cut", cut],
    ["broken off", breakOff],
    ["damaged", damage],
    ["not HTTP", babble],
  ])("is asked again when it only reads: %s", async (_title, first) => {
    const docker = await engineThat(first, [200, { ID: "well" }]);
    expect(await docker.info()).toEqual({ ID: "well" });
    expect(asked).toEqual(["GET /info", "GET /info"]);
  });

  test("is asked again as long as every answer is damaged, up to ten times", async () => {
    const damaged: Answer = [200, '{"ID": "\u0000'];
    const docker = await engineThat(damage, ...Array.from({ length: 8 }, () => damaged), [200, { ID: "well" }]);
    expect(await docker.info()).toEqual({ ID: "well" });
    expect(asked).toHaveLength(10);
  });

  test.each([
    ["a start", (docker: Docker) => docker.getContainer("x").start(), 404, "No such container: x"],
    ["a creation", (docker: Docker) => docker.createContainer({ name: NAME }), 400, "bind source path does not exist"],
  ])("is asked again for the reason of its refusal: %s", async (_title, call, status, message) => {
    const docker = await engineThat(
      (_request, response) => void response.writeHead(status).end('{"mess\0\0\0\0\0\0\0\0o such container: x"}'),
      [status, { message }],
    );
    await expect(call(docker)).rejects.toMatchObject({ statusCode: status, json: { message } });
    expect(asked).toHaveLength(2);
  });

  test("is not asked again when it is refused in other words than JSON", async () => {
    const docker = await engineThat((_request, response) => void response.writeHead(503).end("<html>busy</html>"));
    await expect(docker.info()).rejects.toMatchObject({ statusCode: 503 });
    expect(asked).toHaveLength(1);
  });

  const CHANGES: readonly (readonly [title: string, call: (docker: Docker) => Promise<unknown>, answer: Answer])[] = [
    ["a start that had its effect", (docker) => docker.getContainer("x").start(), [304]],
    ["a start that had none", (docker) => docker.getContainer("x").start(), [204]],
    ["a stop that had its effect", (docker) => docker.getContainer("x").stop({ t: 1 }), [304]],
    ["a removal that had its effect", (docker) => docker.getContainer("x").remove(), [404, { message: "No such" }]],
    ["a removed network", (docker) => docker.getNetwork("x").remove(), [404, { message: "No such network" }]],
    [
      "a rename that had its effect",
      (docker) => docker.getContainer("x").rename({ name: "y" }),
      [400, { message: "Renaming a container with the same name as its current name" }],
    ],
    [
      "a connection that had its effect",
      (docker) => docker.getNetwork("n").connect({ Container: "x" }),
      [403, { message: "endpoint with name x already exists in network n" }],
    ],
    ["a volume", (docker) => docker.createVolume({ Name: "v" }), [201, { Name: "v" }]],
    ["files", (docker) => docker.getContainer("x").putArchive(Buffer.alloc(1024), { path: "/" }), [200]],
  ];
  test.each(CHANGES)("is asked again, and is done: %s", async (_title, call, answer) => {
    const docker = await engineThat(cut, answer);
    await call(docker);
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBe(asked[1]);
  });

  const create = (docker: Docker) => docker.createContainer({ name: NAME, Image: "i", Labels: { "berth.spec": "1" } });
  const TAKEN: Answer = [409, { message: `The container name "/${NAME}" is already in use by container "abc"` }];
  const containerWith = (spec: string, status: string): Answer => [
    200,
    { Id: "abc", Config: { Labels: { "berth.spec": spec } }, State: { Status: status } },
  ];

  test("finds the container that a lost call has created by its name and labels", async () => {
    const docker = await engineThat(cut, TAKEN, containerWith("1", "created"));
    expect((await create(docker)).id).toBe("abc");
    expect(asked[2]).toBe(`GET /containers/${NAME}/json`);
  });

  test.each([
    ["has other labels", containerWith("2", "created")],
    ["is in use", containerWith("1", "running")],
  ])("takes no container that %s for its own", async (_title, found) => {
    const docker = await engineThat(cut, TAKEN, found);
    await expect(create(docker)).rejects.toMatchObject({ statusCode: 409 });
  });

  test("does not excuse the first answer: what is missing was not removed by this call", async () => {
    const docker = await engineThat((_request, response) => void response.writeHead(404).end('{"message":"No such"}'));
    await expect(docker.getContainer("x").remove()).rejects.toMatchObject({ statusCode: 404 });
    expect(asked).toHaveLength(1);
  });

  test.each([
    ["starts a program", (docker: Docker) => docker.getExec("x").start({ hijack: false, stdin: false })],
    ["waits for an end", (docker: Docker) => docker.getContainer("x").wait()],
    ["sends a signal", (docker: Docker) => docker.getContainer("x").kill({ signal: "HUP" })],
  ])("fails, and is not repeated, when it %s", async (_title, call) => {
    const docker = await engineThat(cut);
    await expect(call(docker)).rejects.toThrow();
    expect(asked).toHaveLength(1);
  });
});
