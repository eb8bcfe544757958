import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, type Deployed, deploy, get, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

describeDocker("the proxy of a Docker server", ["nginx:alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  let app: Deployed;
  const page = (text: string) => ({
    Dockerfile: "FROM nginx:alpine\nCOPY index.html /usr/share/nginx/html/\n",
    "index.html": text,
  });
  const source = temporaryRepository(page("one"));

  beforeAll(async () => {
    server = await dockerServer(docker);
    app = await createApplication(server, source, {
      server_uuid: server.dockerUuid,
      build_pack: "dockerfile",
      ports_exposes: "80",
    });
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  });
  afterAll(async () => {
    await server?.dispose();
    source.dispose();
  });

  async function ask(action: "start" | "stop" | "restart") {
    const { body } = await server.rest("POST", `/servers/${server.dockerUuid}/proxy/${action}`);
    const { job_uuid } = body as { job_uuid: string };
    const job = await until(
      async () => {
        const found = (await server.rest("GET", `/jobs/${job_uuid}`)).body as { status: string; error: string | null };
        return ["finished", "failed"].includes(found.status) ? found : undefined;
      },
      { seconds: 60 },
    );
    expect(job).toMatchObject({ status: "finished", error: null });
  }
  const proxies = () =>
    docker.client.listContainers({
      all: true,
      filters: { label: ["berth.kind=proxy", `berth.instance=${docker.instance}`] },
    });
  const statusOf = async () =>
    ((await server.rest("GET", `/servers/${server.dockerUuid}`)).body as { proxy: { status: string } }).proxy.status;

  test("stays stopped through a deployment, and routes to what was deployed when it is started", async () => {
    expect(await get(server, app.host)).toMatchObject({ status: 200, body: "one" });
    await ask("stop");
    expect([await proxies(), await statusOf()]).toEqual([[], "exited"]);
    await expect(get(server, app.host)).rejects.toThrow();
    source.commit(page("two"));
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toMatch(/Its URLs do not answer\. The proxy of server \S+ is stopped/);
    expect(await proxies()).toEqual([]);
    await ask("start");
    expect(await get(server, app.host)).toMatchObject({ status: 200, body: "two" });
    expect(await statusOf()).toBe("running");
  });

  test("is made anew by a restart", async () => {
    const [before] = await proxies();
    await ask("restart");
    const [after, ...others] = await proxies();
    expect(others).toEqual([]);
    expect(after?.Id).not.toBe(before?.Id);
    expect(await get(server, app.host)).toMatchObject({ status: 200, body: "two" });
  });

  test("serves on, takes routes and says why when another type cannot be had", async () => {
    const path = `/servers/${server.dockerUuid}/proxy`;
    const seen = async () => (await server.rest("GET", path)).body as { status: string; problem: string | null };
    const [before] = await proxies();
    await server.rest("PATCH", path, { proxy_type: "traefik" });
    await until(async () => /traefik.* The proxy caddy serves/s.test((await seen()).problem ?? ""), {
      what: "the reason is seen",
      seconds: 60,
    });
    expect((await seen()).status).toBe("running");
    source.commit(page("three"));
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await get(server, app.host)).toMatchObject({ status: 200, body: "three" });
    await server.rest("PATCH", path, { proxy_type: "caddy" });
    await until(async () => (await seen()).problem === null, { what: "it is as it should be", seconds: 60 });
    expect((await proxies()).map(({ Id }) => Id)).toEqual([before?.Id]);
    source.commit(page("two"));
    await deploy(server, app.uuid);
  });

  test("reaches what another destination's network holds", async () => {
    const network = docker.name("back");
    const { body } = await server.rest("POST", `/servers/${server.dockerUuid}/destinations`, { network });
    const other = await createApplication(server, source, {
      server_uuid: server.dockerUuid,
      destination_uuid: (body as { uuid: string }).uuid,
      build_pack: "dockerfile",
      ports_exposes: "80",
    });
    const outcome = await deploy(server, other.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await get(server, other.host)).toMatchObject({ status: 200, body: "two" });
    expect(await get(server, app.host)).toMatchObject({ status: 200, body: "two" });
    const [container] = await docker.client.listContainers({ filters: { label: [`berth.resource=${other.uuid}`] } });
    expect(Object.keys(container?.NetworkSettings.Networks ?? {})).toEqual([network]);
  });
});
