import { createServer } from "node:net";
import { join } from "node:path";
import type { BuildRequest } from "@berth/core/deploy";
import { localHost } from "@berth/host";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { breakableHost } from "../broken-host.fixture.ts";
import { type ImageSuite, imageSuite } from "./image.fixture.ts";
import { type TestRegistry, testRegistry } from "./registry.fixture.ts";

describeDocker("a build by the engine's BuildKit", ["alpine:3", "registry:2"], () => {
  let registry: TestRegistry;
  let suite: ImageSuite;
  const breakable = breakableHost();
  beforeAll(async () => {
    const plain = imageSuite();
    registry = await testRegistry(plain.docker);
    await plain.close();
    suite = imageSuite({ dockerConfigFile: registry.configFile, host: breakable.host });
    await registry.push("alpine:3", "team/base", suite.resourceUuid);
  });
  beforeEach(() => void suite.lines.splice(0));
  afterAll(async () => {
    await suite.close();
    await registry.close();
  });

  test("takes a private base image with the instance's login, which stands in no line", async () => {
    const files = {
      Dockerfile: `FROM ${registry.address}/team/base:${suite.resourceUuid}\nRUN echo ${suite.resourceUuid} >/made\n`,
    };
    const stranger = imageSuite();
    await expect(stranger.build(files)).rejects.toMatchObject({
      code: "deploy.build_failed",
      message: expect.stringContaining("needs a login for its registry"),
    });
    await stranger.close();
    const { image } = await suite.build(files);
    expect(await suite.output(image, ["cat", "/made"])).toBe(`${suite.resourceUuid}\n`);
    expect(suite.lines.join("\n")).not.toContain(registry.password);
  });

  test("sends files of every size and name, without what .dockerignore names", async () => {
    const large = "0123456789abcdef".repeat(200_000);
    const { image } = await suite.build({
      Dockerfile: "FROM alpine:3\nCOPY . /src/\n",
      ".dockerignore": "node_modules\n*.log\n!keep.log\n",
      "large, and odd ü.txt": large,
      empty: "",
      "deep/er/file": "x",
      "a.log": "no",
      "keep.log": "yes",
      "node_modules/x/y": "no",
    });
    expect(await suite.output(image, ["wc", "-c", "/src/large, and odd ü.txt"])).toContain(`${large.length} `);
    expect((await suite.output(image, ["find", "/src", "-type", "f"])).trim().split("\n").sort()).toEqual([
      "/src/.dockerignore",
      "/src/Dockerfile",
      "/src/deep/er/file",
      "/src/empty",
      "/src/keep.log",
      "/src/large, and odd ü.txt",
    ]);
  });

  test("takes files that a link leads to inside of the source", async () => {
    const { image } = await suite.build({
      Dockerfile: "FROM alpine:3\nCOPY current/*.txt /src/\n",
      current: { link: "releases/2" },
      "releases/2/a.txt": "two",
      "releases/1/a.txt": "one",
    });
    expect(await suite.output(image, ["cat", "/src/a.txt"])).toBe("two");
  });

  test("is continued over another connection each time that one breaks off", async () => {
    const [first, second] = [`first ${suite.resourceUuid}`, `second ${suite.resourceUuid}`];
    const building = suite.build({
      Dockerfile: `FROM alpine:3\nRUN echo ${first}\nRUN echo ${second} && sleep 5 && echo done >/end`,
    });
    for (let count = 1; count <= 5; count += 1) {
      await until(() => printed(second) === count);
      breakable.hiccup();
    }
    const { image } = await building;
    expect(await suite.output(image, ["cat", "/end"])).toBe("done\n");
    expect([printed(first), printed(second)]).toEqual([1, 6]);
  });

  const printed = (line: string) => suite.lines.filter((one) => one === line).length;
});

describe("an engine without BuildKit", () => {
  test("is reported", async () => {
    const suite = imageSuite();
    const socketPath = join(suite.folder, "engine.sock");
    const server = createServer((socket) => {
      socket.once("data", () => socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"));
    }).listen(socketPath);
    const old = imageSuite({ host: localHost("old"), socketPath });
    const request: BuildRequest = suite.request({ Dockerfile: "FROM alpine:3" });
    const building = old.builder.build(request, { signal: AbortSignal.timeout(5000), onLine: () => undefined });
    await expect(building).rejects.toMatchObject({
      code: "engine.unsupported",
      message: expect.stringContaining("Update Docker there"),
    });
    server.close();
    await suite.close();
  });
});
