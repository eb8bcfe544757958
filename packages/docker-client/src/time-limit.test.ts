import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { localHost } from "@berth/host";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { dockerClient } from "./client.ts";
import { secondsOf } from "./time-limit.ts";

describe("an engine that takes a question and never answers", () => {
  let folder: string;
  let engine: Server;
  let asked: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "berth-hung-"));
    asked = [];
  });
  afterEach(() => {
    engine.close();
    engine.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  });

  const engineThat = async (answer: RequestListener, limits = { readSeconds: 0.5, changeSeconds: 0.5 }) => {
    const path = join(folder, "engine.sock");
    engine = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      answer(request, response);
    }).listen(path);
    await once(engine, "listening");
    return dockerClient(localHost("far"), path, { limits });
  };
  /** Longer than a busy machine takes for an answer. */
  const WELL_WITHIN = { readSeconds: 2, changeSeconds: 2 };
  const never: RequestListener = () => undefined;
  const halfAnAnswer: RequestListener = (_request, response) => {
    response.setHeader("content-type", "application/json");
    response.write('{"ID": "ha');
  };
  const unreachable = {
    code: "engine.unreachable",
    message: "The engine of far does not answer: it took more than 0.5 s. Check that Docker runs there.",
  };

  test.each([
    ["at all", never],
    ["whole", halfAnAnswer],
  ])("%s is out of reach after its time, and is not asked once more", async (_title, answer) => {
    const docker = await engineThat(answer);
    await expect(docker.listContainers({ all: true })).rejects.toMatchObject(unreachable);
    await expect(docker.getContainer("x").start()).rejects.toMatchObject(unreachable);
    await expect(docker.getContainer("x").stop({ t: 0 })).rejects.toMatchObject(unreachable);
    expect(asked).toHaveLength(3);
  });

  test("holds up nobody who asks it again when it is well", async () => {
    let isWell = false;
    const docker = await engineThat((_request, response) => {
      if (isWell) response.setHeader("content-type", "application/json").end('{"ID": "well"}');
    }, WELL_WITHIN);
    await expect(docker.info()).rejects.toMatchObject({ code: unreachable.code });
    isWell = true;
    expect(await docker.info()).toEqual({ ID: "well" });
  });

  test("is waited for by what streams, and by what waits for a container", async () => {
    const limits = { readSeconds: 0.05, changeSeconds: 0.05 };
    const later: RequestListener = (_request, response) =>
      void setTimeout(() => response.setHeader("content-type", "application/json").end('{"StatusCode": 0}'), 400);
    const docker = await engineThat(later, limits);
    const container = docker.getContainer("x");
    const read = async (asking: Promise<NodeJS.ReadableStream>) => {
      const chunks = await ((await asking) as Readable).toArray();
      return chunks.join("");
    };
    const answers = await Promise.all([
      container.wait(),
      read(docker.getEvents()),
      read(container.logs({ follow: true, stdout: true })),
      read(container.getArchive({ path: "/" })),
      read(docker.createImage({ fromImage: "x" })),
    ]);
    expect(answers).toEqual([{ StatusCode: 0 }, ...Array(4).fill('{"StatusCode": 0}')]);
  });
});

test.each([
  ["GET", "/containers/json?", { all: true }, 60],
  ["GET", "/containers/json?", { size: true }, 300],
  ["GET", "/system/df?", {}, 300],
  ["HEAD", "/containers/x/archive?", {}, 60],
  ["POST", "/containers/create?", {}, 300],
  ["POST", "/containers/x/stop?", { t: 600 }, 900],
  ["POST", "/containers/x/restart?", { t: 10 }, 310],
  ["POST", "/containers/x/stop?", { t: -1 }, undefined],
  ["POST", "/containers/x/stop?", {}, undefined],
  ["POST", "/containers/x/wait?", {}, undefined],
  ["POST", "/images/prune?", {}, undefined],
  ["POST", "/commit?", {}, undefined],
] as const)("%s %s with %j has its own time", (method, path, options, seconds) => {
  const request = { method, path, options, statusCodes: {} };
  expect(secondsOf(request, { readSeconds: 60, changeSeconds: 300 })).toBe(seconds);
});

test("what is sent as a stream has no limit", () => {
  const request = { method: "PUT", path: "/containers/x/archive?", file: Buffer.from(""), statusCodes: {} };
  expect(secondsOf(request, { readSeconds: 60, changeSeconds: 300 })).toBeUndefined();
});
