import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { berth } from "../../cli/e2e/cli.fixture.ts";
import { get, type Outcome, outcomeOf, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Answers with its variables, and at /db whether the database takes connections. */
const WEB = [
  "const http = require('node:http'), net = require('node:net');",
  "http.createServer((request, response) => {",
  "  if (request.url !== '/db') return response.end(JSON.stringify(process.env));",
  "  const socket = net.connect(5432, process.env.SERVICE_NAME_DB, () => { socket.destroy(); response.end('open'); });",
  "  socket.on('error', (error) => response.end(String(error)));",
  "}).listen(3000, () => console.log('listening'));",
].join(" ");

const compose = (version: string) => `
services:
  web:
    image: node:24-alpine
    command: ["node", "-e", ${JSON.stringify(WEB)}]
    environment:
      SERVICE_URL_WEB_3000: /
      VERSION: "${version}"
      DATABASE_PASSWORD: $SERVICE_PASSWORD_DB
      LEVEL: "\${LEVEL:-info}"
    depends_on: { db: { condition: service_healthy } }
    healthcheck:
      test: ["CMD", "node", "-e", "fetch('http://127.0.0.1:3000').then(() => process.exit(0), () => process.exit(1))"]
      interval: 1s
      retries: 30
  db:
    image: postgres:17-alpine
    environment: { POSTGRES_PASSWORD: $SERVICE_PASSWORD_DB }
    volumes: ["data:/var/lib/postgresql/data"]
    healthcheck: { test: ["CMD-SHELL", "pg_isready -U postgres"], interval: 1s, retries: 60 }
volumes: { data: }
`;

interface ServiceView {
  readonly status: string;
  readonly applications: readonly { readonly name: string; readonly status: string; readonly fqdn: string | null }[];
  readonly databases: readonly { readonly name: string; readonly status: string }[];
}

describeDocker("services on Docker", ["node:24-alpine", "postgres:17-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  let uuid: string;
  let host: string;
  let where: object;

  const view = async () => (await server.rest("GET", `/services/${uuid}`)).body as ServiceView;
  const statusIs = (status: string) =>
    until(async () => ((await view()).status === status ? true : undefined), { seconds: 60 });
  const labelled = () => ({ filters: { label: [`berth.resource=${uuid}`] } });
  const environment = async (): Promise<Record<string, string>> => JSON.parse((await get(server, host)).body);
  const answers = () =>
    until(async () => ((await get(server, host).catch(() => undefined))?.status === 200 ? true : undefined), {
      seconds: 60,
    });

  /** Outcome of the newest deployment. */
  async function newest(): Promise<Outcome> {
    const { body } = await server.rest("GET", `/deployments/services/${uuid}?take=1`);
    const [deployment] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
    return await outcomeOf(server, deployment?.deployment_uuid ?? "");
  }
  async function ended(): Promise<void> {
    const outcome = await newest();
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  }
  /** Begins a start or restart, and waits for its end. */
  async function begun(path: string): Promise<void> {
    const { status, body } = await server.rest("POST", `/services/${uuid}${path}`, {});
    expect(status, JSON.stringify(body)).toBe(200);
    await ended();
  }
  const change = async (body: object) => {
    const answer = await server.rest("PATCH", `/services/${uuid}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };

  beforeAll(async () => {
    server = await dockerServer(docker);
    where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const sent = { ...where, name: "shop", docker_compose: compose("one"), instant_deploy: true };
    const { status, body } = await server.rest("POST", "/services", sent);
    expect(status, JSON.stringify(body)).toBe(201);
    const made = body as { uuid: string; domains: string[] };
    uuid = made.uuid;
    host = new URL(made.domains[0] ?? "").hostname;
    await ended();
  });
  afterAll(() => server?.dispose());

  test("[S40] runs the containers of its compose text with their variables, and the status of each is seen", async () => {
    await statusIs("running:healthy");
    const { applications, databases } = await view();
    expect([...applications, ...databases].map(({ name, status }) => [name, status])).toEqual([
      ["web", "running:healthy"],
      ["db", "running:healthy"],
    ]);
    const env = await environment();
    expect(env).toMatchObject({ VERSION: "one", LEVEL: "info", BERTH_CONTAINER_NAME: `web-${uuid}` });
    expect(env.DATABASE_PASSWORD).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(env.SERVICE_URL_WEB_3000).toContain(`web-${uuid}`);
    expect((await get(server, host, "/db")).body).toBe("open");
  });

  test("answers what one of its containers prints", async () => {
    const logs = async (query: string) => (await server.rest("GET", `/services/${uuid}/logs${query}`)).body;
    expect(await logs("?container=web")).toEqual({ logs: "listening" });
    expect(JSON.stringify(await logs("?container=db"))).toContain("ready to accept connections");
  });

  test("shows the logs of all its containers as one on the command line, each line with its container", async () => {
    const typed = (...argv: readonly string[]) =>
      berth(["service", "logs", "shop", ...argv], {
        cwd: server.dataFolder,
        env: { PATH: process.env.PATH ?? "", HOME: server.dataFolder, BERTH_DATA: server.dataFolder },
      });
    const all = await typed("--all");
    expect([all.code, all.stderr]).toEqual([0, ""]);
    const lines = all.stdout.trimEnd().split("\n");
    expect(lines).toContain("web | listening");
    expect(lines.some((line) => /^db \| .*ready to accept connections/.test(line))).toBe(true);
    expect(lines.filter((line) => !/^(web|db) \| /.test(line))).toEqual([]);
    const last = await typed("--all", "--lines", "1");
    expect(last.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect((await typed("db", "--all")).code).toBe(2);
  });

  test("runs a task in the container that it names", async () => {
    const task = { name: "who", command: "echo in $BERTH_CONTAINER_NAME", frequency: "yearly", container: "db" };
    const { body } = await server.rest("POST", `/services/${uuid}/scheduled-tasks`, task);
    const path = `/services/${uuid}/scheduled-tasks/${(body as { uuid: string }).uuid}`;
    await server.rest("POST", `${path}/run`, {});
    const execution = await until(
      async () => {
        const found = (await server.rest("GET", `${path}/executions`)).body as { status: string; message: string }[];
        return found.find(({ status }) => status !== "running");
      },
      { seconds: 90 },
    );
    expect(execution).toMatchObject({ status: "success", message: expect.stringContaining(`in db-${uuid}`) });
    await server.rest("DELETE", path);
  });

  test("[S60] leads a new URL to its container at once, without a restart", async () => {
    const before = (await docker.client.listContainers(labelled())).map(({ Id }) => Id).sort();
    const url = `http://${docker.name("shop")}.localhost`;
    await change({ urls: [{ name: "web", url }] });
    host = new URL(url).hostname;
    await answers();
    expect((await docker.client.listContainers(labelled())).map(({ Id }) => Id).sort()).toEqual(before);
  });

  test("replaces what takes requests without a failed one, and leaves its database running", async () => {
    const idsOf = async (name: string) => {
      const all = await docker.client.listContainers(labelled());
      return all.flatMap(({ Id, Labels }) => (Labels["berth.container"] === name ? Id : []));
    };
    const before = { web: await idsOf("web"), db: await idsOf("db") };
    const containers = [
      { name: "web", action: "candidate_first" },
      { name: "db", action: "kept" },
    ];
    expect(await change({ docker_compose: compose("between"), dry_run: true })).toMatchObject({
      changes: { replacement: { mode: "candidate_first", containers } },
    });
    await change({ docker_compose: compose("between") });
    const failed: unknown[] = [];
    let isOver = false;
    const load = (async () => {
      while (!isOver) {
        const answer = await get(server, host).catch((error: unknown) => error);
        if (!(answer instanceof Object && "status" in answer && answer.status === 200)) failed.push(answer);
      }
    })();
    await begun("/restart");
    const web = await until(
      async () => {
        const now = await idsOf("web");
        return now.length === 1 && now[0] !== before.web[0] ? now : undefined;
      },
      { seconds: 60 },
    );
    isOver = true;
    await load;
    expect(failed).toEqual([]);
    expect(web).not.toEqual(before.web);
    expect(await idsOf("db")).toEqual(before.db);
    expect((await environment()).VERSION).toBe("between");
    expect((await get(server, host, "/db")).body).toBe("open");
    expect((await newest()).log).toContain("Keeps db, which is unchanged");
    await change({ docker_compose: compose("one") });
    await begun("/restart");
  });

  test("leaves all containers running when the same text is sent again, and replaces them where that is asked for", async () => {
    const idsOf = async () => {
      const all = await docker.client.listContainers(labelled());
      return all
        .filter(({ State }) => State === "running")
        .map(({ Id }) => Id)
        .sort();
    };
    const before = await idsOf();
    await change({ docker_compose: compose("one"), instant_deploy: true });
    await ended();
    expect(await idsOf()).toEqual(before);
    expect((await newest()).log).toContain("Keeps web, which is unchanged");
    expect((await environment()).VERSION).toBe("one");
    expect((await server.rest("POST", `/deploy?uuid=${uuid}&force=true`)).status).toBe(200);
    await ended();
    const isReplaced = async () => ((await idsOf()).some((id) => before.includes(id)) ? undefined : true);
    expect(await until(isReplaced, { seconds: 60 })).toBe(true);
  });

  test("is replaced by what its changed text says, and keeps its data", async () => {
    await server.rest("POST", `/services/${uuid}/envs`, { key: "LEVEL_TOO", value: "a $b 'c'" });
    expect(await change({ docker_compose: compose("two"), dry_run: true })).toMatchObject({
      changes: { containers: [{ name: "web", fields: ["environment"] }] },
    });
    await change({ docker_compose: compose("two") });
    expect((await environment()).VERSION).toBe("one");
    await begun("/restart?latest=true");
    await answers();
    expect(await environment()).toMatchObject({ VERSION: "two", LEVEL_TOO: "a $b 'c'" });
    expect((await get(server, host, "/db")).body).toBe("open");
  });

  test("stops, and starts again", async () => {
    expect((await server.rest("POST", `/services/${uuid}/stop`, {})).status).toBe(200);
    await statusIs("exited");
    expect((await get(server, host)).status).toBe(503);
    expect((await server.rest("POST", `/services/${uuid}/stop`, {})).status).toBe(400);
    // It asked for a cleanup of the server, which leaves what a start needs.
    const cleaned = await until(
      async () => {
        const [job] = (await server.rest("GET", "/jobs?type=server.cleanup")).body as {
          status: string;
          error: string;
        }[];
        return job?.status === "queued" || job?.status === "in_progress" ? undefined : (job ?? { status: "none" });
      },
      { seconds: 60 },
    );
    expect(cleaned).toMatchObject({ status: "finished" });
    await begun("/start");
    await answers();
    await statusIs("running:healthy");
    expect((await server.rest("POST", `/services/${uuid}/start`, {})).status).toBe(400);
  });

  test("[S46] is not made at all when its URLs conflict", async () => {
    const own = { label: [`berth.instance=${docker.instance}`] };
    // Remains of earlier deployments may be removed meanwhile.
    const things = async () => {
      const containers = await docker.client.listContainers({ all: true, filters: own });
      const { Volumes } = await docker.client.listVolumes({ filters: own });
      return [...containers.map(({ Id }) => Id), ...(Volumes ?? []).map(({ Name }) => Name)];
    };
    const before = await things();
    const services = async () => ((await server.rest("GET", "/services")).body as object[]).length;
    const count = await services();
    const sent = { ...where, docker_compose: compose("x"), instant_deploy: true };
    const urls = [{ name: "web", url: `http://${host}` }];
    expect((await server.rest("POST", "/services", { ...sent, urls })).status).toBe(409);
    expect(await services()).toBe(count);
    expect(before).toEqual(expect.arrayContaining(await things()));
  });

  test("is refused with the names of required variables that have no value, while what runs continues", async () => {
    const text = compose("three").replace("VERSION:", 'TOKEN: "${TOKEN:?}"\n      VERSION:');
    await change({ docker_compose: text });
    await server.rest("POST", `/services/${uuid}/restart`, {});
    const outcome = await newest();
    expect([outcome.status, outcome.error], outcome.log).toEqual(["failed", expect.stringContaining("TOKEN")]);
    expect((await environment()).VERSION).toBe("two");
    await change({ docker_compose: compose("two") });
  });

  test("continues as it was when what shall replace it does not become healthy", async () => {
    await change({ docker_compose: compose("four").replace(".listen(3000", ".listen(3001") });
    await server.rest("POST", `/services/${uuid}/restart`, {});
    const outcome = await newest();
    expect([outcome.status, outcome.error], outcome.log).toEqual(["failed", expect.stringContaining("container web")]);
    await answers();
    expect((await environment()).VERSION).toBe("two");
    await change({ docker_compose: compose("two") });
  });

  const volumes = async () => (await docker.client.listVolumes(labelled())).Volumes ?? [];

  test("is deleted with its volumes kept", async () => {
    expect(await volumes()).toHaveLength(1);
    await server.rest("DELETE", `/services/${uuid}?delete_volumes=false`);
    await until(async () => ((await server.rest("GET", `/services/${uuid}`)).status === 404 ? true : undefined), {
      seconds: 60,
    });
    expect(await docker.client.listContainers({ ...labelled(), all: true })).toEqual([]);
    expect(await volumes()).toHaveLength(1);
    for (const { Name } of await volumes()) await docker.client.getVolume(Name).remove();
  });

  test("in an internal network alone takes requests from the proxy, and is deleted with its volumes", async () => {
    const text = `${compose("inside")}networks: { default: { internal: true } }\n`;
    const sent = { ...where, docker_compose: text, instant_deploy: true };
    const made = (await server.rest("POST", "/services", sent)).body as { uuid: string; domains: string[] };
    uuid = made.uuid;
    host = new URL(made.domains[0] ?? "").hostname;
    await ended();
    await answers();
    expect((await environment()).VERSION).toBe("inside");
    expect((await get(server, host, "/db")).body).toBe("open");
    const joined = (await docker.client.listContainers(labelled())).map(({ NetworkSettings }) =>
      Object.keys(NetworkSettings.Networks),
    );
    expect(joined).toEqual([[`${uuid}_default`], [`${uuid}_default`]]);
    expect(await docker.client.getNetwork(`${uuid}_default`).inspect()).toMatchObject({ Internal: true });
    expect(await volumes()).toHaveLength(1);
    await server.rest("DELETE", `/services/${uuid}?delete_volumes=true`);
    await until(async () => ((await server.rest("GET", `/services/${uuid}`)).status === 404 ? true : undefined), {
      seconds: 60,
    });
    expect(await volumes()).toEqual([]);
    expect((await docker.client.listNetworks(labelled())).length).toBe(0);
  });
});
