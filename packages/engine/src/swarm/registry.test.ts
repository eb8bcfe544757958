import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { ClientRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BuildRequest } from "@berth/core/deploy";
import { BUILD_CONFIG } from "@berth/core/testing";
import { dockerClient } from "@berth/docker-client";
import { localHost } from "@berth/host";
import {
  describeDocker,
  REGISTRY_IMAGE,
  registryLogins,
  SERVER_IMAGE,
  startRegistry,
  type TestRegistry,
  trustRegistry,
} from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { imageBuilder } from "../docker/builder/image-builder.ts";
import { NO_CONTAINER_OPTIONS } from "../docker/container.ts";
import { io, specOf } from "../docker/docker.fixture.ts";
import { dockerImages } from "../docker/images.ts";
import { workplaces } from "../workplace.fixture.ts";
import { type SwarmWorld, swarmWorld } from "./swarm.fixture.ts";

describeDocker("a private registry's image on a swarm", ["busybox:stable", SERVER_IMAGE, REGISTRY_IMAGE], (fixture) => {
  let world: SwarmWorld;
  let registry: TestRegistry;
  let folder: string;
  beforeAll(async () => {
    [world, registry] = await Promise.all([swarmWorld(fixture, { nodes: 2 }), startRegistry(fixture)]);
    folder = mkdtempSync(join(tmpdir(), "berth-swarm-registry-"));
    await trustRegistry(registry, world.servers);
  });
  afterAll(async () => {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("is pulled once, by digest and with its login, and runs on nodes that neither reach the registry nor know the login", async () => {
    const { address, networkAddress, username, password } = registry;
    const dockerConfigFile = join(folder, "config.json");
    writeFileSync(dockerConfigFile, registryLogins(registry));
    const image = "busybox:stable";
    const here = dockerImages({ docker: dockerClient(localHost("here")), server: "here", dockerConfigFile });
    const pushed = await here.push(image, { name: `${address}/${fixture.run}/app`, tag: "v1" }, io());
    const [registryHost = ""] = networkAddress.split(":");
    await world.servers[1]?.cutFrom(registryHost);

    const { inWorkplace, close } = workplaces(folder);
    const builder = imageBuilder({
      ...{ host: world.manager.host, instanceId: fixture.instance, folder: join(folder, "builds"), inWorkplace },
      recordedLogins: async () => [{ address: networkAddress, username, password }],
    });
    const engine = world.engine({ builder });
    const secrets = [password, Buffer.from(`${username}:${password}`).toString("base64")];
    const sent: { readonly path: string; readonly login: string }[] = [];
    const record = (message: unknown) => {
      const { request } = message as { readonly request: ClientRequest }; // As Node documents.
      const login = Buffer.from(String(request.getHeader("x-registry-auth") ?? ""), "base64").toString();
      sent.push({ path: request.path, login });
    };
    subscribe("http.client.request.start", record);
    const container = { ...NO_CONTAINER_OPTIONS, command: ["sleep", "1000"] } as const;
    const spec = specOf({ type: "image", image }, { replicas: 2, container });
    const { resourceUuid, deploymentUuid } = spec;
    const config: BuildRequest["config"] = {
      ...BUILD_CONFIG,
      build_pack: "dockerimage",
      docker_registry_image_name: `${networkAddress}/${fixture.run}/app@sha256`,
      docker_registry_image_tag: pushed.split("@sha256:")[1] ?? "",
    };
    const artifact = await engine.build(
      { resourceUuid, deploymentUuid, resourceNumber: 1, sourceFolder: folder, config, env: {}, isForced: false },
      io(),
    );
    if (artifact.type !== "image") throw new Error("An image is pulled.");
    await engine.start({ ...spec, artifact }, io());
    unsubscribe("http.client.request.start", record);

    expect(artifact.digest).toBe(pushed.replace(address, networkAddress));
    const running = await world.containersOf(spec);
    expect(running.map(({ State, ImageID }) => [State, ImageID])).toEqual(running.map(() => ["running", artifact.id]));
    expect(new Set(running.map(({ Labels }) => Labels["com.docker.swarm.node.id"])).size).toBe(2);

    // The login is in the header of the pull alone, and in nothing that others of the cluster can read.
    const withLogin = sent.filter(({ login }) => login.includes(password));
    expect(withLogin.map(({ path }) => path)).toEqual([expect.stringMatching(/^\/images\/create\?/)]);
    const { docker } = world.manager;
    const perNode = world.nodes.map(async ({ docker: engineOf }) => [
      await Promise.all((await engineOf.listContainers()).map(({ Id }) => engineOf.getContainer(Id).inspect())),
      await Promise.all((await engineOf.listImages()).map(({ Id }) => engineOf.getImage(Id).inspect())),
    ]);
    const readable = JSON.stringify([
      ...[sent.map(({ path }) => path), await docker.listServices(), await docker.listTasks()],
      ...[await docker.listNodes(), await docker.listSecrets(), await docker.listConfigs(), await Promise.all(perNode)],
    ]);
    expect(readable).toContain(artifact.id);
    for (const secret of secrets) expect(readable).not.toContain(secret);
    for (const { exec } of world.servers) expect((await exec(["ls", "/root/.docker"])).exitCode).not.toBe(0);
    await engine.remove(spec, { graceSeconds: 0 });
    await close();
  });
});
