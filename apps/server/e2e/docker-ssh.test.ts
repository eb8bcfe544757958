import { createHash } from "node:crypto";
import { describeDocker, type ServerContainer, startServerContainer, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Deployed, deploy, outcomeOf, placeOf } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** An application without a repository: a Dockerfile. */
const dockerfile = (version: string): string => {
  const program = `require("http").createServer((q, r) => r.end("${version}")).listen(3000)`;
  const text = `FROM node:24-alpine\nEXPOSE 3000\nCMD ${JSON.stringify(["node", "-e", program])}\n`;
  return Buffer.from(text).toString("base64");
};

describeDocker("a server over SSH", ["server:debian13", "node:24-alpine", "caddy:2"], (docker) => {
  let server: TestServer;
  let machine: ServerContainer;
  let serverUuid: string;
  let app: Deployed;

  beforeAll(async () => {
    [server, machine] = await Promise.all([testServer(), startServerContainer(docker)]);
    await machine.loadImages("node:24-alpine", "caddy:2");
    const key = await server.rest("POST", "/security/keys", { name: "web", private_key: machine.keys.privateKey });
    expect(key, JSON.stringify(key.body)).toMatchObject({ status: 201 });
    const { status, body } = await server.rest("POST", "/servers", {
      name: "web-1",
      ip: machine.address,
      private_key_uuid: (key.body as { uuid: string }).uuid,
      proxy_type: "caddy",
      instant_validate: true,
    });
    expect(status, JSON.stringify(body)).toBe(201);
    serverUuid = (body as { uuid: string }).uuid;
  });
  afterAll(async () => {
    await server?.dispose();
  });

  const read = async () =>
    (await server.rest("GET", `/servers/${serverUuid}`)).body as {
      is_usable: boolean;
      is_validating: boolean;
      validation_logs: string | null;
      host_key: string | null;
      proxy_type: string;
    };
  /** Sends a request to the server's own address, like a visitor. */
  const visit = async (path = "/", host = app.host) => {
    const { exitCode, output } = await machine.exec([
      ...["curl", "-s", "-m", "10", "-o", "/dev/stdout", "-w", " %{http_code}"],
      ...["-H", `Host: ${host}`, `http://127.0.0.1${path}`],
    ]);
    return exitCode === 0 ? output : `curl ended with ${exitCode}`;
  };

  test("is validated, and its host key is pinned", async () => {
    const found = await until(
      async () => {
        const now = await read();
        return now.is_validating ? undefined : now;
      },
      { seconds: 60 },
    );
    expect(found, found.validation_logs ?? "").toMatchObject({ is_usable: true, validation_logs: null });
    const shown = await machine.exec(["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]);
    const [, blob = ""] = shown.output.split(" ");
    const digest = createHash("sha256").update(Buffer.from(blob, "base64")).digest("base64").replace(/=+$/, "");
    expect(found.host_key).toBe(`SHA256:${digest}`);
  });

  test("runs an application that was built on it, behind its own proxy", async () => {
    const { status, body } = await server.rest("POST", "/applications/dockerfile", {
      ...(await placeOf(server)),
      server_uuid: serverUuid,
      dockerfile: dockerfile("0"),
      ports_exposes: "3000",
      name: "web",
    });
    expect(status, JSON.stringify(body)).toBe(201);
    const { uuid } = body as { uuid: string };
    const { fqdn } = (await server.rest("GET", `/applications/${uuid}`)).body as { fqdn: string };
    app = { uuid, host: new URL(fqdn).hostname };
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await visit()).toBe("0 200");
    const limits = await machine.exec([
      "sh",
      "-c",
      "cat /sys/fs/cgroup/berth/builds/pids.max || cat /sys/fs/cgroup/pids/berth/builds/pids.max",
    ]);
    expect(limits.output).toContain("8192");
  });

  test("loses its connection and gets it back, and nobody who visits notices", async () => {
    await machine.killSshd();
    expect(await visit()).toBe("0 200");
    await machine.startSshd();
    await server.rest("PATCH", `/applications/${app.uuid}`, { dockerfile: dockerfile("1") });
    const outcome = await deploy(server, app.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    expect(await visit()).toBe("1 200");
  });

  test("runs the containers of a service, which find each other and their files, behind its own proxy", async () => {
    const api = `const { readFileSync } = require("fs");
      const texts = ["/file/greeting", "/config", "/folder/there"].map((path) => readFileSync(path, "utf8"));
      require("http").createServer((q, r) => r.end(texts.join(" "))).listen(4000)`;
    await machine.exec(["sh", "-c", "mkdir -p /srv/shared && printf folder >/srv/shared/there"]);
    const web = `require("http").createServer(async (q, r) => r.end(await (await fetch("http://api:4000")).text())).listen(3000)`;
    const service = (program: string) => ({ image: "node:24-alpine", command: ["node", "-e", program] });
    const docker_compose = JSON.stringify({
      services: {
        web: { ...service(web), environment: ["SERVICE_URL_WEB_3000"], depends_on: ["api"] },
        api: {
          ...service(api),
          volumes: [
            "data:/data",
            { type: "bind", source: "./greeting", target: "/file/greeting", content: "file" },
            "/srv/shared:/folder:ro",
          ],
          configs: [{ source: "told", target: "/config" }],
        },
      },
      volumes: { data: {} },
      configs: { told: { content: "config" } },
    });
    const where = { ...(await placeOf(server)), server_uuid: serverUuid };
    const made = await server.rest("POST", "/services", { ...where, docker_compose, instant_deploy: true });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { uuid, domains } = made.body as { uuid: string; domains: string[] };
    const { body } = await server.rest("GET", `/deployments/services/${uuid}?take=1`);
    const [deployment] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
    const outcome = await outcomeOf(server, deployment?.deployment_uuid ?? "");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
    // It runs when its program has begun, which may not listen yet.
    const host = new URL(domains[0] ?? "").hostname;
    await expect.poll(() => visit("/", host)).toBe("file config folder 200");
  });

  test("is empty again after it was deleted with force", async () => {
    expect(await server.rest("DELETE", `/servers/${serverUuid}`)).toMatchObject({ status: 400 });
    expect(await server.rest("DELETE", `/servers/${serverUuid}?force=true`)).toMatchObject({ status: 200 });
    await until(async () => ((await server.rest("GET", `/servers/${serverUuid}`)).status === 404 ? true : undefined), {
      seconds: 90,
    });
    const left = await machine.exec(["docker", "ps", "-a", "-q", "--filter", "label=berth.resource"]);
    expect(left.output).toBe("");
  });
});
