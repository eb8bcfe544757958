import { Agent } from "node:http";
import { describeLargeDocker, type RepositoryFiles, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, deploy, getKept, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

const dockerApp = (version: string): RepositoryFiles => ({
  ...plainServer(version),
  Dockerfile: `FROM node:24-alpine\nWORKDIR /app\nCOPY . .\nENV PORT=3000\nEXPOSE 3000\nCMD ["node", "server.js"]\n`,
});

/**
 * Another container of the network, which looks the name up anew for each request. No container has the name for the
 * moment in which it changes hands, so a lookup may find nothing; nothing else may go wrong, and never for long.
 */
const neighbour = (name: string) => `
  const http = require("node:http");
  const ask = (sinceMs) => {
    http.get({ host: "${name}", port: 3000, agent: false, timeout: 5000 }, (response) => {
      response.on("data", (version) => console.log("answer " + version)).on("end", () => setTimeout(ask, 2));
    }).on("error", (error) => {
      const lostMs = sinceMs === undefined ? 0 : Date.now() - sinceMs;
      if (error.code !== "ENOTFOUND" || lostMs > 2000) console.log("failed " + error.message);
      setTimeout(ask, 10, sinceMs ?? Date.now());
    });
  };
  ask();
`;

describeLargeDocker(
  "an application whose container always has the same name",
  ["node:24-alpine", "caddy:2"],
  (docker) => {
    let server: DockerServer;
    let other: Awaited<ReturnType<typeof docker.client.createContainer>> | undefined;
    const source = temporaryRepository(dockerApp("0"));

    beforeAll(async () => {
      server = await dockerServer(docker);
    });
    afterAll(async () => {
      await other?.remove({ force: true });
      await server?.dispose();
      source.dispose();
    });

    test("fails no request while the name goes from one release to the next, and is a host of that name again at once", async () => {
      const name = docker.name("shop");
      const app = await createApplication(server, source, {
        server_uuid: server.dockerUuid,
        build_pack: "dockerfile",
        is_consistent_container_name_enabled: true,
        custom_internal_name: name,
      });
      const first = await deploy(server, app.uuid);
      expect(first, first.log).toMatchObject({ status: "finished" });
      const { HostConfig } = await docker.client.getContainer(name).inspect();
      const beside = await docker.client.createContainer({
        name: docker.name("neighbour"),
        Image: "node:24-alpine",
        Cmd: ["node", "-e", neighbour(name)],
        Labels: { ...docker.labels },
        HostConfig: { NetworkMode: HostConfig.NetworkMode ?? "", Init: true },
      });
      other = beside;
      await beside.start();

      const agent = new Agent({ keepAlive: true, maxSockets: 4 });
      const failures: string[] = [];
      const seen = new Set<string>();
      let isOver = false;
      const client = async () => {
        while (!isOver) {
          await getKept(server, app.host, agent).then(
            (body) => seen.add(body),
            (cause: unknown) => failures.push(String(cause)),
          );
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      const clients = Array.from({ length: 4 }, client);
      for (const version of ["1", "2", "3", "4"]) {
        source.commit(dockerApp(version));
        const outcome = await deploy(server, app.uuid);
        expect(outcome, outcome.log).toMatchObject({ status: "finished" });
        const info = await docker.client.getContainer(name).inspect();
        expect(info.Config.Labels["berth.deployment"]).toBe(outcome.uuid);
        await until(async () => ((await wordsOf(beside)).includes(`answer ${version}`) ? true : undefined), {
          seconds: 20,
        });
      }
      isOver = true;
      await Promise.all(clients);
      agent.destroy();
      expect(failures).toEqual([]);
      expect([...seen].sort()).toEqual(["0", "1", "2", "3", "4"]);
      const words = await wordsOf(beside);
      expect(words.filter((word) => word.startsWith("failed"))).toEqual([]);
      expect(words.length).toBeGreaterThan(500);
    });

    const wordsOf = async (container: { logs(options: object): Promise<Buffer> }): Promise<readonly string[]> =>
      String(await container.logs({ stdout: true, stderr: true })).match(/(answer|failed) [^\n\r]*/g) ?? [];
  },
);
