import { request } from "node:https";
import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import {
  createApplication,
  type Deployed,
  deploy,
  deployFirst,
  get,
  temporaryRepository,
  visit,
} from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Answers its version, and the scheme and client that it was told. */
const telling = (version: string) => ({
  "package.json": JSON.stringify({ name: "told", version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    const server = require("node:http").createServer(({ headers }, answer) =>
      answer.end(["${version}", headers["x-forwarded-proto"], headers["x-forwarded-for"]].join(" ")));
    server.listen(process.env.PORT);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
});

describeDocker("the public ports of a machine with Docker", ["nginx:alpine", "caddy:2", "node:24-alpine"], (docker) => {
  let server: DockerServer;
  let container: Deployed;
  const page = temporaryRepository({
    Dockerfile: "FROM nginx:alpine\nCOPY index.html /usr/share/nginx/html/\n",
    "index.html": "a container",
  });
  const program = temporaryRepository(telling("one"));

  beforeAll(async () => {
    server = await dockerServer(docker);
    container = await createApplication(server, page, {
      server_uuid: server.dockerUuid,
      build_pack: "dockerfile",
      ports_exposes: "80",
      domains: "http://container.test",
    });
    await deployFirst(server, container.uuid);
  });
  afterAll(async () => {
    await server?.dispose();
    page.dispose();
    program.dispose();
  });

  const command = (...words: string[]) =>
    berth(words, {
      cwd: server.dataFolder,
      env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
    });

  const secure = (host: string) =>
    new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
      const asked = request(
        {
          host: "127.0.0.1",
          port: server.httpsPort,
          servername: host,
          headers: { host },
          agent: false,
          rejectUnauthorized: false,
        },
        (answer) => {
          let body = "";
          answer.on("data", (piece: Buffer) => (body += piece.toString()));
          answer.on("end", () => resolve({ status: answer.statusCode, body }));
        },
      );
      asked.on("error", reject);
      asked.end();
    });
  const urlsOf = async (uuid: string) =>
    ((await server.rest("GET", `/applications/${uuid}`)).body as { urls: readonly string[] }).urls;

  test("lead to processes and containers, by http and https, through releases and changes of names", async () => {
    const shop = await createApplication(server, program, { name: "shop", domains: "https://shop.test" });
    await deployFirst(server, shop.uuid);
    expect(await urlsOf(shop.uuid)).toEqual([`https://shop.test:${server.httpsPort}`]);
    await until(async () => (await secure("shop.test").catch(() => undefined))?.status === 200, { seconds: 30 });
    expect((await secure("shop.test")).body).toBe("one https 127.0.0.1");
    expect((await get(server, "shop.test")).status).toBe(308);
    expect((await get(server, "container.test")).body).toBe("a container");

    const seen = new Set<string>();
    let isDeploying = true;
    const visits = (async () => {
      while (isDeploying) {
        const { status, body } = await secure("shop.test").catch((error: Error) => ({ status: 0, body: `${error}` }));
        seen.add(`${status} ${body}`);
      }
    })();
    program.commit(telling("two"));
    await deployFirst(server, shop.uuid).finally(() => (isDeploying = false));
    await visits;
    expect([...seen].filter((one) => !/^200 (one|two) https/.test(one))).toEqual([]);
    expect((await secure("shop.test")).body).toMatch(/^two/);

    await server.rest("PATCH", `/applications/${shop.uuid}`, { domains: "http://store.test" });
    // Caddy's reload may reset a connection that waits to be accepted.
    const answersByHttp = async () => (await get(server, "store.test").catch(() => undefined))?.body;
    await until(async () => (await answersByHttp())?.startsWith("two http"), { seconds: 30 });
    expect((await get(server, "shop.test")).status).toBe(404);
  });

  test("lead to an application while it moves from a process to a container and back", async () => {
    const roamer = await createApplication(server, program, { name: "roamer", domains: "http://roamer.test" });
    await deployFirst(server, roamer.uuid);
    const { uuid, server_uuid: home } = await server.client.applications.get.query({ uuid: roamer.uuid });
    await until(async () => (await get(server, "roamer.test").catch(() => undefined))?.status === 200, { seconds: 30 });
    for (const target of [server.dockerUuid, home]) {
      const [destination] = await server.client.destinations.listOfServer.query({ uuid: target });
      const answers = new Set<string>();
      let isMoving = true;
      const visits = (async () => {
        while (isMoving) {
          const { status, body } = await get(server, "roamer.test").catch(() => ({ status: 0, body: "no answer" }));
          answers.add(`${status} ${body.slice(0, 8).trim()}`);
        }
      })();
      const { deployment_uuid } = await server.client.applications.migrate.mutate({
        uuid,
        destination_uuid: destination?.uuid ?? "",
      });
      const moving = { uuid: deployment_uuid ?? "" };
      const isDone = async () => {
        const { status } = await server.client.deployments.get.query(moving);
        expect(status).not.toBe("failed");
        return status === "finished" && (await containersOf(uuid)) === (target === home ? 0 : 1);
      };
      await until(isDone, { seconds: 60 }).finally(() => (isMoving = false));
      await visits;
      // Caddy's reload may reset a connection that waits to be accepted.
      expect([...answers].filter((one) => !/^(200 (one|two)|0 no)/.test(one))).toEqual([]);
      const runs = async () => (await server.client.applications.get.query({ uuid })).status === "running:healthy";
      await until(runs, { seconds: 30 });
      expect((await get(server, "roamer.test")).status).toBe(200);
    }
  });

  test("lead to one of two servers of an application, whichever is deployed to, and to the first when it is left", async () => {
    const twin = await createApplication(server, program, { name: "twin", domains: "http://twin.test" });
    await deployFirst(server, twin.uuid);
    const { uuid } = twin;
    const { applications, deploy } = server.client;
    expect(await command("app", "add-server", "twin", "docker", "--no-deploy")).toMatchObject({ code: 0 });
    const answers = new Set<string>();
    let isDeploying = true;
    const visits = (async () => {
      while (isDeploying) {
        const { status, body } = await get(server, "twin.test").catch(() => ({ status: 0, body: "no answer" }));
        answers.add(`${status} ${body.slice(0, 8).trim()}`);
      }
    })();
    const work = async () => {
      const { deployments = [] } = await deploy.mutate({ uuid });
      expect(deployments).toHaveLength(2);
      const ended = async () => {
        const listed = await applications.destinations.list.query({ uuid });
        return listed.every(({ deployment, status }) => deployment?.finished_at && status === "running:healthy");
      };
      await until(ended, { seconds: 60 });
      expect(await containersOf(uuid)).toBe(1);
      expect(await applications.destinations.list.query({ uuid })).toMatchObject([
        { is_primary: true, problem: null, deployment: { status: "finished" } },
        { is_primary: false, problem: null, deployment: { status: "finished" } },
      ]);
      // Follows the deployment to each server in turn.
      const followed = await command("restart", "twin");
      expect(followed.stdout).toMatch(/Deployment finished[\s\S]*Server docker:[\s\S]*Deployment finished/);
      expect((await command("app", "servers", "twin")).stdout).toMatch(/\(first\) .*\n.*docker .*finished/);
      expect(await command("app", "remove-server", "twin", "docker")).toMatchObject({ code: 0 });
      await until(async () => (await containersOf(uuid)) === 0, { seconds: 60 });
    };
    await work().finally(() => (isDeploying = false));
    await visits;
    // Caddy's reload may reset a connection that waits to be accepted.
    expect([...answers].filter((one) => !/^(200 (one|two)|0 no)/.test(one))).toEqual([]);
    expect((await get(server, "twin.test")).status).toBe(200);
  });

  const containersOf = async (uuid: string) =>
    (await docker.client.listContainers({ filters: { label: [`berth.resource=${uuid}`] } })).length;

  test("have one owner for a name: it is refused to a process when a container has it", async () => {
    const refused = createApplication(server, program, { name: "other", domains: "http://container.test" });
    await expect(refused).rejects.toThrow("Not created: 409");
  });

  test("follow a name that moves from a container to a process and back, and lead to one owner at a time", async () => {
    const domains = async (uuid: string, urls: string) => {
      const { status, body } = await server.rest("PATCH", `/applications/${uuid}`, { domains: urls });
      expect(status, JSON.stringify(body)).toBe(200);
    };
    const mover = await createApplication(server, program, { name: "mover", domains: "http://mover.test" });
    await deployFirst(server, mover.uuid);
    // Caddy's reload may reset a connection that waits to be accepted.
    const bodyOf = async (host: string) => (await get(server, host).catch(() => undefined))?.body;
    const isProcess = (body = "") => body.startsWith("two http");
    const isContainer = (body = "") => body === "a container";
    const movesTo = async (isOwner: (body?: string) => boolean) => {
      await until(async () => isOwner(await bodyOf("container.test")), { seconds: 30 });
      const others = new Set<string | undefined>();
      for (let n = 0; n < 50; n += 1) {
        const body = await bodyOf("container.test");
        if (body !== undefined && !isOwner(body)) others.add(body);
      }
      expect([...others]).toEqual([]);
    };
    for (let round = 0; round < 2; round += 1) {
      await domains(container.uuid, "http://elsewhere.test");
      await domains(mover.uuid, "http://mover.test,http://container.test");
      await movesTo(isProcess);
      await until(async () => isContainer(await bodyOf("elsewhere.test")), { seconds: 30 });
      await domains(mover.uuid, "http://mover.test");
      await domains(container.uuid, "http://container.test");
      await movesTo(isContainer);
      await until(async () => isProcess(await bodyOf("mover.test")), { seconds: 30 });
      expect((await get(server, "elsewhere.test")).status).toBe(404);
    }
  });

  test("say at each place that https is not answered while their proxy is stopped, and never call it http", async () => {
    const sent = { name: "bank", domains: "https://bank.test" };
    const bank = await createApplication(server, program, sent);
    await deployFirst(server, bank.uuid);
    const proxy = async (what: "start" | "stop") => {
      const { body } = await server.rest("POST", `/servers/${server.dockerUuid}/proxy/${what}`);
      const { job_uuid } = body as { job_uuid: string };
      const job = async () => (await server.rest("GET", `/jobs/${job_uuid}`)).body as { status: string };
      await until(async () => (await job()).status === "finished", { seconds: 60 });
    };
    const shown = async () =>
      (await server.rest("GET", `/applications/${bank.uuid}`)).body as { urls: string[]; url_problem: string | null };
    const urls = [`https://bank.test:${server.httpsPort}`];
    expect(await shown()).toMatchObject({ urls, url_problem: null });
    await proxy("stop");
    try {
      const problem = expect.stringMatching(
        /^Nothing answers at https:\/\/bank\.test\. The proxy of server \S+ is stopped\. Start it: berth server-proxies start /,
      );
      await until(async () => (await shown()).url_problem !== null, { seconds: 15 });
      expect(await shown()).toMatchObject({ urls, url_problem: problem });
      const { body: summaries } = await server.rest("GET", "/resources/summaries");
      expect(summaries).toContainEqual(expect.objectContaining({ uuid: bank.uuid, urls, url_problem: problem }));
      const opened = await command("open", "bank", "--print");
      expect(opened).toMatchObject({ code: 0, stdout: `${urls[0]}\n`, stderr: expect.stringContaining("is stopped") });
      program.commit(telling("three"));
      const outcome = await deploy(server, bank.uuid);
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      expect(outcome.log).toContain(`Deployment finished: ${urls[0]}`);
      expect(outcome.log).toMatch(/Nothing answers at https:\/\/bank\.test\. The proxy of server \S+ is stopped/);
      const refused = await server.rest("PATCH", `/applications/${bank.uuid}`, { domains: "https://till.test" });
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([
        422,
        expect.stringMatching(/proxy of.*is stopped/),
      ]);
    } finally {
      await proxy("start");
    }
    await until(async () => (await shown()).url_problem === null, { seconds: 15 });
    await until(async () => (await secure("bank.test").catch(() => undefined))?.body.startsWith("three"), {
      seconds: 30,
    });
  });

  test("believe no client who says that the request came from somebody else", async () => {
    const forged = { "x-forwarded-for": "203.0.113.9", "x-real-ip": "203.0.113.9", forwarded: "for=203.0.113.9" };
    const { body } = await visit({ host: "127.0.0.1", port: server.proxyPort }, "mover.test", forged);
    expect(body).toBe("two http 127.0.0.1");
  });
});
