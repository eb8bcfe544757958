import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerClient } from "@berth/docker-client";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { io } from "../docker.fixture.ts";
import { type DockerEngine, dockerEngine } from "../engine.ts";
import { farHost, SERVER_IMAGE, testServer } from "../server.fixture.ts";
import { stackSpec } from "./stack.fixture.ts";
import { composeTool } from "./tool.ts";

const TEXT = `
services:
  web:
    image: busybox:stable
    init: true
    command: ["httpd", "-f", "-p", "8080", "-h", "/www"]
    volumes: [{ type: bind, source: ./page, target: /www/index.html, content: "from afar" }]
    depends_on: [keeper]
  keeper: { image: busybox:stable, init: true, command: ["sleep", "1000"], volumes: ["data:/data"] }
volumes: { data: }
`;

describeDocker("a stack on another server", [SERVER_IMAGE, "busybox:stable"], (fixture) => {
  let folder: string;
  let engine: DockerEngine;
  let close: () => Promise<void>;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-far-"));
    const server = await testServer(fixture);
    const host = farHost(server, join(folder, "bridges"));
    const far = dockerClient(host);
    await eventually(() => far.ping());
    const image = await fixture.client.getImage("busybox:stable").get();
    await new Promise<void>((resolve, reject) => {
      void far.loadImage(image).then((stream) =>
        stream
          .on("error", reject)
          .on("end", () => resolve())
          .resume(),
      );
    });
    const builder = {
      buildPacks: [],
      build: () => Promise.reject(),
      removeImage: async () => {},
      removeImages: async () => {},
    };
    const compose = composeTool({ host, folder });
    engine = dockerEngine({ host, docker: far, instance: fixture.instance, builder, network: "berth", compose });
    close = async () => {
      await engine.close({ stopReleases: false });
      await host.close();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  afterAll(() => close());

  test("runs there as it does here", async () => {
    const spec = stackSpec(TEXT, { containers: { web: { ports: [8080] } } });
    const { state, containers } = await engine.start(spec, io());
    expect([state, containers?.map(({ name }) => name)]).toEqual(["running", ["web", "keeper"]]);
    const page = await engine.exec(spec, "wget -qO- http://web:8080/", { timeoutSeconds: 10, container: "keeper" });
    expect(page.output).toBe("from afar");
    await engine.removeResource(spec.resourceUuid, { deleteVolumes: true });
    expect(await engine.list()).toEqual([]);
  });
});
