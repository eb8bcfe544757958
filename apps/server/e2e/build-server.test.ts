import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  assertTook,
  createRepository,
  describeDocker,
  registryLogins,
  type ServerContainer,
  startGitServer,
  startRegistry,
  startServerContainer,
  type TestRegistry,
  trustRegistry,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outcomeOf, placeOf, requestDeployment } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const dockerfile = (...lines: string[]): string =>
  Buffer.from(
    [
      "FROM busybox:stable",
      "RUN mkdir /www && cat /proc/sys/kernel/random/uuid >/www/index.html",
      ...lines,
      'CMD ["httpd", "-f", "-p", "3000", "-h", "/www"]',
      "",
    ].join("\n"),
  ).toString("base64");

describeDocker("an application with a build server", ["server:debian13", "registry:2", "busybox:stable"], (docker) => {
  const home = mkdtempSync(join(tmpdir(), "berth-home-"));
  let server: TestServer;
  let registry: TestRegistry;
  let builder: ServerContainer;
  let target: ServerContainer;
  let app: string;
  let serverUuid: string;

  const addServer = async (name: string, machine: ServerContainer, settings: object) => {
    const key = await server.rest("POST", "/security/keys", { name, private_key: machine.keys.privateKey });
    const { status, body } = await server.rest("POST", "/servers", {
      name,
      ip: machine.address,
      private_key_uuid: (key.body as { uuid: string }).uuid,
      proxy_type: "none",
      instant_validate: true,
      ...settings,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    const { uuid } = body as { uuid: string };
    await until(
      async () => {
        const { body: read } = await server.rest("GET", `/servers/${uuid}`);
        const { is_usable, validation_logs } = read as { is_usable: boolean; validation_logs: string | null };
        expect(validation_logs).toBeNull();
        return is_usable;
      },
      { seconds: 90 },
    );
    return uuid;
  };

  beforeAll(async () => {
    [registry, builder, target] = await Promise.all([
      startRegistry(docker),
      startServerContainer(docker),
      startServerContainer(docker),
    ]);
    await trustRegistry(registry, [builder, target]);
    mkdirSync(join(home, ".docker"));
    writeFileSync(join(home, ".docker", "config.json"), registryLogins(registry));
    // The target server does not need the base image.
    await builder.loadImages("busybox:stable");
    server = await testServer({ env: { HOME: home, BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1" } });
    serverUuid = await addServer("web-1", target, {});
    await addServer("builder-1", builder, { is_build_server: true });
    const { status, body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: serverUuid,
      dockerfile: dockerfile(),
      ports_exposes: "3000",
      name: "web",
      use_build_server: true,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    app = (body as { uuid: string }).uuid;
  });
  afterAll(async () => {
    await server?.dispose();
    rmSync(home, { recursive: true, force: true });
  });

  const request = async (force = false) => {
    const { body } = await server.rest("POST", `/deploy?uuid=${app}&force=${force}`);
    return (body as { deployments: { deployment_uuid: string }[] }).deployments[0]?.deployment_uuid ?? "";
  };
  const deploy = async (force = false) => {
    const outcome = await outcomeOf(server, await request(force));
    expect(outcome.log).not.toContain(registry.password);
    return outcome;
  };
  const patch = async (change: object) => {
    expect(await server.rest("PATCH", `/applications/${app}`, change)).toMatchObject({ status: 200 });
  };
  /** Page of the running container, different for each build without a cache. */
  const served = async () => {
    const { output } = await target.exec(["docker", "ps", "-q", "--filter", `label=berth.resource=${app}`]);
    // The replaced container may still be stopping and is listed after it.
    const [id = ""] = output.split("\n");
    return (await target.exec(["docker", "exec", id, "cat", "/www/index.html"])).output;
  };
  const images = async (machine: ServerContainer) =>
    (await machine.exec(["docker", "images", "--format", "{{.Repository}}"])).output.trim().split("\n");

  test("is built there, moved without a registry, and runs where its base image never was", async () => {
    const outcome = await deploy();
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toContain("Builds on build server builder-1.");
    expect(outcome.log).toMatch(/The image is on web-1: [\d.]+ MB in [\d.]+ s/);
    const { body } = await server.rest("GET", `/deployments/${outcome.uuid}`);
    expect(body).toMatchObject({ server_name: "web-1", build_server_id: expect.any(Number) });
    expect(await served()).toMatch(/^[0-9a-f-]{36}$/m);
    expect(await images(builder)).toEqual(["busybox"]);
    expect(await images(target)).toEqual([`berth/${app}`]);
  });

  test("is built from the cache, though its image has gone from there, and without it by force", async () => {
    const first = await served();
    const cached = await deploy();
    expect(cached, cached.log).toMatchObject({ status: "finished" });
    expect(cached.log).toMatch(/web-1 has (\d+) of its \1 layers already/);
    expect(await served()).toBe(first);
    expect(await deploy(true)).toMatchObject({ status: "finished" });
    expect(await served()).not.toBe(first);
  });

  test("is moved again when the connection is lost in the middle", async () => {
    await patch({ dockerfile: dockerfile("RUN head -c 120000000 /dev/urandom >/large") });
    const deployment = await request();
    await until(
      async () => {
        const { body } = await server.rest("GET", `/deployments/${deployment}/logs`);
        return (body as { lines: { output: string }[] }).lines.some(({ output }) =>
          output.startsWith("Moves the image"),
        );
      },
      { seconds: 60 },
    );
    await target.killSshd();
    await target.startSshd();
    const outcome = await outcomeOf(server, deployment);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toContain("The move was interrupted and begins again");
    expect((await target.exec(["ls", "-A", "/var/lib/docker/tmp"])).output).toBe("");
    await patch({ dockerfile: dockerfile() });
  });

  test("ends within 5 seconds when its build is cancelled, and what ran continues", async () => {
    const before = await served();
    await patch({ dockerfile: dockerfile("RUN echo begun && sleep 300") });
    const deployment = await request();
    await until(async () => (await builder.exec(["pgrep", "-f", "^sleep 300"])).exitCode === 0, { seconds: 60 });
    const askedMs = performance.now();
    const answer = await server.rest("POST", `/deployments/${deployment}/cancel`);
    expect(answer).toMatchObject({ status: 200, body: { status: "cancelled-by-user" } });
    await assertTook(performance.now() - askedMs, 5000);
    await until(async () => (await builder.exec(["pgrep", "-f", "^sleep 300"])).exitCode === 1, { seconds: 5 });
    expect(await served()).toBe(before);
    expect(await images(builder)).toEqual(["busybox"]);
    await patch({ dockerfile: dockerfile() });
  });

  test("comes through its registry, by its digest, with the instance's login", async () => {
    await patch({
      docker_registry_image_name: `${registry.networkAddress}/team/web`,
      docker_registry_image_tag: "live",
    });
    const outcome = await deploy();
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toContain(`Pushing ${registry.networkAddress}/team/web:live`);
    expect(outcome.log).toMatch(/Pulling \S+\/team\/web@sha256:[0-9a-f]{64}/);
    expect(outcome.log).not.toContain("Moves the image");
    const login = Buffer.from(`${registry.username}:${registry.password}`).toString("base64");
    const tags = await fetch(`http://${registry.address}/v2/team/web/tags/list`, {
      headers: { authorization: `Basic ${login}` },
    });
    expect(((await tags.json()) as { tags: string[] }).tags).toContain("live");
    expect(await images(builder)).toEqual(["busybox"]);
    expect(new Set(await images(target))).toEqual(new Set([`berth/${app}`]));
  });

  test("is rolled back to its image after the server has lost that", async () => {
    const { body } = await server.rest("GET", `/applications/${app}/rollback-images`);
    const { images: kept } = body as { images: { tag: string; is_current: boolean }[] };
    const wanted = kept.find(({ is_current }) => is_current)?.tag ?? "";
    const running = await served();
    expect(await deploy(true)).toMatchObject({ status: "finished" });
    expect(await served()).not.toBe(running);
    const { output: id } = await target.exec(["docker", "images", "-q", `berth/${app}:${wanted}`]);
    await target.exec(["sh", "-c", `docker ps -aq --filter ancestor=${id.trim()} | xargs -r docker rm -f`]);
    await target.exec(["docker", "rmi", `berth/${app}:${wanted}`]);
    const answer = await server.rest("POST", `/applications/${app}/rollback`, { commit: wanted });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    const outcome = await outcomeOf(server, (answer.body as { deployment_uuid: string }).deployment_uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).toContain("so it is pulled again");
    expect(await served()).toBe(running);
  });

  test("of several containers comes image by image, and none of them is built where it runs", async () => {
    createRepository(join(home, "stack")).commit(
      {
        Dockerfile: 'FROM busybox:stable\nRUN echo built >/made\nCMD ["sleep", "600"]\n',
        "docker-compose.yaml": [
          "services:",
          "  web: { build: ., init: true }",
          "  side: { image: 'busybox:stable', init: true, command: [sleep, '600'] }",
          "",
        ].join("\n"),
      },
      "Begin",
    );
    const git = await startGitServer({ root: home });
    try {
      const { status, body } = await server.rest("POST", "/applications/public", {
        ...(await placeOf(server)),
        server_uuid: serverUuid,
        git_repository: `${git.url}/stack/.git`,
        git_branch: "main",
        build_pack: "dockercompose",
        use_build_server: true,
      });
      expect(status, JSON.stringify(body)).toBe(201);
      const { uuid } = body as { uuid: string };
      const deployment = await requestDeployment(server, uuid);
      const outcome = await outcomeOf(server, deployment);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      expect(outcome.log.match(/^Moves the image/gm)).toHaveLength(2);
      const own = await target.exec(["docker", "images", "--format", "{{.Tag}}", `berth/${uuid}`]);
      expect(new Set(own.output.trim().split("\n"))).toEqual(new Set([`${deployment}.web`, `${deployment}.side`]));
      expect(await images(builder)).toEqual(["busybox"]);
    } finally {
      await git.close();
    }
  });

  test("fails before the switch when its registry does not take the image", async () => {
    const before = await served();
    await patch({ docker_registry_image_name: "127.0.0.1:9/team/web", docker_registry_image_tag: "live" });
    const outcome = await deploy();
    expect(outcome).toMatchObject({ status: "failed", error: expect.stringContaining("the registry 127.0.0.1:9") });
    expect(await served()).toBe(before);
    expect(await images(builder)).toEqual(["busybox"]);
  });
});
