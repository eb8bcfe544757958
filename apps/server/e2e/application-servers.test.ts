import { describeDocker, SERVER_IMAGE, type ServerContainer, startServerContainer, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deploy, made, placeOf } from "./applications.fixture.ts";
import { type SeenServer, seenOverSsh } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const HOST = "shop.test";

/** An application without a repository: a Dockerfile. */
function dockerfile(version: string): string {
  const program = `require("http").createServer((q, r) => r.end("${version}")).listen(3000)`;
  const text = `FROM node:24-alpine\nEXPOSE 3000\nCMD ${JSON.stringify(["node", "-e", program])}\n`;
  return Buffer.from(text).toString("base64");
}

describeDocker("an application on two servers", [SERVER_IMAGE, "node:24-alpine", "caddy:2"], (docker) => {
  let server: TestServer;
  let machines: readonly [ServerContainer, ServerContainer];
  let seen: readonly [SeenServer, SeenServer];
  let uuid: string;
  let destination_uuid: string;

  beforeAll(async () => {
    server = await testServer();
    machines = await Promise.all([startServerContainer(docker), startServerContainer(docker)]);
    for (const machine of machines) await machine.loadImages("node:24-alpine");
    seen = await Promise.all([seenOverSsh(server, machines[0], "web-1"), seenOverSsh(server, machines[1], "web-2")]);
    uuid = await made(server, "/applications/dockerfile", {
      ...{ ...(await placeOf(server)), server_uuid: seen[0].serverUuid, name: "shop", ports_exposes: "3000" },
      ...{ dockerfile: dockerfile("1"), domains: `http://${HOST}` },
    });
    const [there] = await server.client.destinations.listOfServer.query({ uuid: seen[1].serverUuid });
    destination_uuid = there?.uuid ?? "";
    await server.client.applications.destinations.attach.mutate({ uuid, destination_uuid });
  });
  afterAll(() => server?.dispose());

  const destinations = () => server.client.applications.destinations.list.query({ uuid });
  const change = (version: string) =>
    server.client.applications.update.mutate({ uuid, dockerfile: dockerfile(version) });
  const bodies = () => Promise.all(seen.map(async ({ visit }) => (await visit(HOST)).body));
  /** Waits for the newest deployment to each server. */
  const ended = () =>
    until(
      async () => {
        const all = await destinations();
        return all.every(({ deployment }) => deployment?.finished_at) ? all : undefined;
      },
      { seconds: 90 },
    );

  test("answers on both, and each can be read", async () => {
    await deploy(server, uuid);
    expect(await ended()).toMatchObject([
      { server_name: "web-1", is_primary: true, deployment: { status: "finished" } },
      { server_name: "web-2", is_primary: false, deployment: { status: "finished" }, problem: null },
    ]);
    expect(await bodies()).toEqual(["1", "1"]);
    const read = async () => (await server.client.applications.get.query({ uuid })).status;
    await until(async () => (await read()) === "running:healthy", { seconds: 30 });
    for (const { serverUuid: server_uuid } of seen) {
      expect(await server.client.applications.containers.list.query({ uuid, server_uuid })).toMatchObject([
        { state: "running" },
      ]);
    }
  });

  test("keeps the old release on the second server while a deployment fails there alone", async () => {
    // Without the base image, and without a registry, nothing can be built.
    const remove = ["sh", "-c", "docker rmi -f node:24-alpine; docker builder prune -af"];
    expect((await machines[1].exec(remove)).exitCode).toBe(0);
    await change("2");
    await deploy(server, uuid);
    const [first, second] = await ended();
    expect(first).toMatchObject({ deployment: { status: "finished" }, problem: null });
    expect(second?.deployment?.status).toBe("failed");
    expect(second?.problem).toContain("what ran before still runs");
    expect(await bodies()).toEqual(["2", "1"]);
    await machines[1].loadImages("node:24-alpine");
  });

  test("is deployed to the second server while the first cannot be reached", async () => {
    await machines[0].killSshd();
    await change("3");
    await server.client.deploy.mutate({ uuid });
    const [first, second] = await ended();
    expect(first?.deployment?.status).toBe("failed");
    expect(second?.deployment).toMatchObject({ status: "finished", error: null });
    expect(await bodies()).toEqual(["2", "3"]);
    await machines[0].startSshd();
  });

  test("leaves a server that it is removed from, once the first one answers", async () => {
    const { deployments = [] } = await server.client.deploy.mutate({ uuid, server_uuid: seen[0].serverUuid });
    expect(deployments).toHaveLength(1);
    await ended();
    await server.client.applications.destinations.detach.mutate({ uuid, destination_uuid });
    // A connection that is used at the moment at which the proxy reads its sites anew is closed.
    await until(async () => (await seen[1].visit(HOST).catch(() => undefined))?.status === 404, { seconds: 60 });
    expect((await seen[0].visit(HOST)).body).toBe("3");
    const containers = ["docker", "ps", "-aq", "--filter", `label=berth.resource=${uuid}`];
    await until(async () => (await machines[1].exec(containers)).output === "", { seconds: 60 });
  });
});
