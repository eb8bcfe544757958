import { once } from "node:events";
import { createServer, connect as dial, type Socket } from "node:net";
import type { Forward } from "@berth/core/ports";
import { freePort } from "@berth/host/testing";
import { describeDocker, eventually } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { NO_CONTAINER_OPTIONS } from "./container.ts";
import { type DockerWorld, dockerWorld, io, specOf } from "./docker.fixture.ts";
import type { DockerEngine } from "./engine.ts";
import { configurationOf } from "./forward.ts";

const PORT = 3000;

describeDocker("a forward", ["node:24-alpine", "nginx:alpine"], (fixture) => {
  let world: DockerWorld;
  let engine: DockerEngine;

  beforeAll(async () => {
    world = dockerWorld(fixture);
    engine = await world.engine();
  });
  afterAll(() => world.close());

  const forwards = () => engine.containers.forwards;
  const forwardTo = async (host: string, change: Partial<Forward> = {}): Promise<Forward> => ({
    ...{ resourceUuid: host, publicPort: await freePort(), host, port: PORT, idleSeconds: 60 },
    network: await fixture.network(),
    ...change,
  });
  /** A release with this network alias. */
  const releaseOf = async (resourceUuid: string) => {
    const spec = specOf(await world.image(), {
      resourceUuid,
      container: { ...NO_CONTAINER_OPTIONS, networkAliases: [resourceUuid] },
    });
    await engine.start(spec, io());
    return spec;
  };
  const pidAt = (port: number) =>
    eventually(async () => (await fetch(`http://127.0.0.1:${port}/env?name=BERTH_DEPLOYMENT_UUID`)).json());
  const connected = async (port: number): Promise<Socket> => {
    const socket = dial(port, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };

  test("leads from a port of the server to whichever release has the name", async () => {
    const name = fixture.name("db");
    const first = await releaseOf(name);
    const forward = await forwardTo(name);
    await forwards().open(forward);
    expect(await pidAt(forward.publicPort)).toBe(first.deploymentUuid);
    expect(await forwards().list()).toContainEqual({ resourceUuid: name, forward, isRunning: true });

    await engine.stop(first, { graceSeconds: 1 });
    const second = await releaseOf(name);
    await eventually(async () => expect(await pidAt(forward.publicPort)).toBe(second.deploymentUuid));

    const open = await connected(forward.publicPort);
    const closed = once(open, "close");
    await forwards().close(name);
    await closed;
    await expect(fetch(`http://127.0.0.1:${forward.publicPort}/`)).rejects.toThrow();
    expect((await forwards().list()).filter(({ resourceUuid }) => resourceUuid === name)).toEqual([]);
    await forwards().close(name);
  });

  test("closes a connection on which nothing has gone for so long", async () => {
    const name = fixture.name("db");
    await releaseOf(name);
    const forward = await forwardTo(name, { idleSeconds: 1 });
    await forwards().open(forward);
    await pidAt(forward.publicPort);
    const startedMs = performance.now();
    const socket = await connected(forward.publicPort);
    await once(socket.resume(), "close");
    expect(performance.now() - startedMs).toBeGreaterThan(900);
  });

  test("from a port that something else has is refused with that port, and leaves nothing", async () => {
    const name = fixture.name("db");
    const holder = createServer().listen(0, "0.0.0.0");
    await once(holder, "listening");
    const address = holder.address();
    const publicPort = typeof address === "object" && address !== null ? address.port : 0;
    const forward = await forwardTo(name, { publicPort });
    await expect(forwards().open(forward)).rejects.toMatchObject({
      code: "port.taken",
      message: expect.stringContaining(`Port ${publicPort} of server test is taken`),
    });
    expect((await forwards().list()).filter(({ resourceUuid }) => resourceUuid === name)).toEqual([]);
    holder.close();
    await once(holder, "close");
    await forwards().open(forward);
    const other = await forwardTo(fixture.name("db"), { publicPort });
    await expect(forwards().open(other)).rejects.toMatchObject({ code: "port.taken" });
  });

  test("is no release, is nobody else's, and goes with its resource", async () => {
    const name = fixture.name("db");
    await forwards().open(await forwardTo(name));
    expect((await engine.list()).filter(({ resourceUuid }) => resourceUuid === name)).toEqual([]);
    const stranger = await world.engine({ instance: `${fixture.instance}-other` });
    expect(await stranger.containers.forwards.list()).toEqual([]);
    await stranger.containers.forwards.close(name);
    expect((await forwards().list()).map(({ resourceUuid }) => resourceUuid)).toContain(name);
    await engine.removeResource(name, { deleteVolumes: true });
    expect((await forwards().list()).map(({ resourceUuid }) => resourceUuid)).not.toContain(name);
  });

  test("has a configuration that nginx takes", async () => {
    const text = configurationOf({
      resourceUuid: "r",
      publicPort: 1,
      network: "n",
      host: "db",
      port: 5432,
      idleSeconds: 3600,
    });
    const argv = ["sh", "-c", 'printf %s "$1" > /tmp/f.conf && nginx -t -c /tmp/f.conf', "sh", text];
    const { container, logs } = await fixture.container({ image: "nginx:alpine", argv });
    expect([await container.wait(), await logs()]).toEqual([{ StatusCode: 0, Error: null }, expect.any(String)]);
  });
});
