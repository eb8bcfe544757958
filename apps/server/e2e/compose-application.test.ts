import { describeDocker, type RepositoryFiles, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deploy, get, outcomeOf, placeOf, temporaryRepository } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Two containers: one is built, the other stores data. */
const files = (version: string, more = ""): RepositoryFiles => ({
  "docker-compose.yaml": `
services:
  web:
    build: { context: ., args: { VERSION: "${version}" } }
    init: true
    environment: { SECRET: "\${SECRET:?}", SERVICE_URL_WEB_8080: "", TOKEN: "\${SERVICE_PASSWORD_WEB:?}", ID: $COOLIFY_RESOURCE_UUID }
    volumes: ["./site:/www/site:ro"]
    depends_on: { store: { condition: service_healthy } }
    ${more}
  store:
    image: busybox:stable
    init: true
    command: ["sh", "-c", "echo ${version} >>/data/starts && exec httpd -f -p 8000 -h /data"]
    volumes: ["data:/data"]
    healthcheck: { test: ["CMD", "wget", "-qO", "/dev/null", "http://127.0.0.1:8000/starts"], interval: 500ms, retries: 40 }
volumes: { data: }
`,
  Dockerfile:
    'FROM busybox:stable\nARG VERSION\nRUN mkdir -p /www && echo "$VERSION" >/www/index.html\nCMD ["httpd", "-f", "-p", "8080", "-h", "/www"]\n',
  "site/page.txt": `page ${version}`,
});

describeDocker("an application of a compose file", ["busybox:stable", "caddy:2"], (docker) => {
  const source = temporaryRepository(files("1"));
  const webHost = "web.compose.test";
  const storeHost = "store.compose.test";
  let server: DockerServer;
  let uuid: string;

  const labelled = () => ({ filters: { label: [`berth.resource=${uuid}`] } });
  const succeed = async () => {
    const outcome = await deploy(server, uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    return outcome;
  };

  beforeAll(async () => {
    server = await dockerServer(docker);
    const { status, body } = await server.rest("POST", "/applications/public", {
      ...(await placeOf(server)),
      server_uuid: server.dockerUuid,
      git_repository: source.url,
      git_branch: "main",
      build_pack: "dockercompose",
      docker_compose_domains: [
        { name: "web", domain: `http://${webHost}:8080` },
        { name: "store", domain: `http://${storeHost}:8000` },
      ],
    });
    expect(status, JSON.stringify(body)).toBe(201);
    uuid = (body as { uuid: string }).uuid;
  });
  afterAll(async () => {
    await server?.dispose();
    source.dispose();
  });

  test("is not started without a variable that it demands", async () => {
    const outcome = await deploy(server, uuid);
    expect(outcome.status).toBe("failed");
    expect(outcome.log).toContain("SECRET");
    const { status } = await server.rest("POST", `/applications/${uuid}/envs`, { key: "SECRET", value: "s $x 'y'" });
    expect(status).toBe(201);
  });

  test("is built, and each of its containers answers at its own URL", async () => {
    await succeed();
    expect((await get(server, webHost)).body).toBe("1\n");
    expect((await get(server, webHost, "/site/page.txt")).body).toBe("page 1");
    expect((await get(server, storeHost, "/starts")).body).toBe("1\n");
    const { body: envs } = await server.rest("GET", `/applications/${uuid}/envs`);
    const token = (envs as { key: string; value: string }[]).find(({ key }) => key === "SERVICE_PASSWORD_WEB")?.value;
    expect(token).toMatch(/^\w{32}$/);
    const containers = await docker.client.listContainers(labelled());
    const read = await Promise.all(containers.map(({ Id }) => docker.client.getContainer(Id).inspect()));
    const urls = read
      .flatMap(({ Config }) => Config.Env)
      .filter((line) => /^(ID|TOKEN|SERVICE_URL_WEB_8080)=/.test(line));
    expect(urls.sort()).toEqual([
      `ID=${uuid}`,
      expect.stringMatching(new RegExp(`^SERVICE_URL_WEB_8080=http://${webHost}(:\\d+)?$`)),
      `TOKEN=${token}`,
    ]);
    // One container has no health check.
    await until(
      async () => {
        const { body } = await server.rest("GET", `/applications/${uuid}`);
        return (body as { status: string }).status === "running:unknown" ? true : undefined;
      },
      { seconds: 60 },
    );
  });

  test("keeps its data through a deployment, and the release before it over one that fails", async () => {
    source.commit(files("2"));
    const commands = {
      pre_deployment_command: "echo before $(wc -l </data/starts) >>/data/commands",
      pre_deployment_command_container: "store",
      post_deployment_command: "true",
    };
    expect((await server.rest("PATCH", `/applications/${uuid}`, commands)).status).toBe(200);
    const { log } = await succeed();
    expect((await get(server, storeHost, "/commands")).body).toBe("before 1\n");
    expect(log).toContain("say in post_deployment_command_container in which of web, store");
    // Each URL belongs to another container.
    expect(log).not.toContain("nothing listens");
    expect((await get(server, webHost, "/site/page.txt")).body).toBe("page 2");
    expect((await get(server, storeHost, "/starts")).body).toBe("1\n2\n");
    source.commit(files("3", 'command: ["sh", "-c", "exit 7"]'));
    const failed = await deploy(server, uuid);
    expect([failed.status, failed.log]).toEqual(["failed", expect.stringContaining("web")]);
    await until(
      async () => {
        const answer = await get(server, webHost).catch(() => undefined);
        return answer?.body === "2\n" ? true : undefined;
      },
      { seconds: 60 },
    );
  });

  test("goes back to its first release without a build", async () => {
    const { body } = await server.rest("GET", `/applications/${uuid}/rollback-images`);
    const { images } = body as { images: { tag: string; is_current: boolean }[] };
    const wanted = images.find(({ is_current }) => !is_current)?.tag;
    const answer = await server.rest("POST", `/applications/${uuid}/rollback`, { commit: wanted });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    const outcome = await outcomeOf(server, (answer.body as { deployment_uuid: string }).deployment_uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(outcome.log).not.toMatch(/Builds web|Pulling/);
    expect((await get(server, webHost)).body).toBe("1\n");
    expect((await get(server, webHost, "/site/page.txt")).body).toBe("page 1");
  });

  test("goes with all that was made for it", async () => {
    expect((await server.rest("DELETE", `/applications/${uuid}`)).status).toBe(200);
    await until(
      async () => {
        const { client } = docker;
        const { Volumes } = await client.listVolumes(labelled());
        const left = [...(await client.listContainers({ all: true, ...labelled() })), ...(Volumes ?? [])];
        const networks = await client.listNetworks(labelled());
        const images = await client.listImages({ filters: { reference: [`berth/${uuid}:*`] } });
        return left.length + networks.length + images.length === 0 ? true : undefined;
      },
      { seconds: 60 },
    );
  });
});
