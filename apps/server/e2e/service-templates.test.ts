import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeLargeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { get, outcomeOf, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** A service template, with stand-ins for images that cannot be pulled here. */
interface StandIn {
  readonly type: string;
  readonly image: string;
  readonly port: number;
  /** Hosts that it must reach, by their names in the template. */
  readonly near: readonly string[];
  /** A generated variable of the application. */
  readonly made: string | undefined;
}

const STAND_INS: readonly StandIn[] = [
  { type: "adminer", image: "adminer:5", port: 8080, near: [], made: undefined },
  { type: "phpmyadmin", image: "phpmyadmin:5-apache", port: 80, near: [], made: undefined },
  {
    type: "umami",
    image: "ghcr.io/umami-software/umami:postgresql-v2.20.2",
    port: 3000,
    near: ["postgres:5432"],
    made: "APP_SECRET",
  },
  {
    type: "wordpress",
    image: "wordpress:6-apache",
    port: 80,
    near: ["mariadb:3306"],
    made: "WORDPRESS_DB_PASSWORD",
  },
  {
    type: "directus",
    image: "directus/directus:11",
    port: 8055,
    near: ["postgres:5432", "redis:6379"],
    made: "ADMIN_PASSWORD",
  },
  {
    type: "n8n-with-postgresql",
    image: "n8nio/n8n:1.123.26",
    port: 5678,
    near: ["postgres:5432"],
    made: "N8N_ENCRYPTION_KEY",
  },
  {
    type: "nextcloud-with-postgres",
    image: "nextcloud:31-apache",
    port: 80,
    near: ["postgres:5432", "redis:6379"],
    made: "NEXTCLOUD_ADMIN_PASSWORD",
  },
];

/** Answers with its variables while it reaches what is near, else with an error. */
const APPLICATION = `
import http from "node:http";
import net from "node:net";
const reaches = (address) => new Promise((resolve) => {
  const [host, port] = address.split(":");
  const socket = net.connect(Number(port), host, () => { socket.destroy(); resolve(true); });
  socket.on("error", () => resolve(false));
});
const near = process.env.STAND_IN_NEAR.split(",").filter(Boolean);
http.createServer(async (request, response) => {
  response.statusCode = (await Promise.all(near.map(reaches))).every(Boolean) ? 200 : 500;
  response.end(JSON.stringify(process.env));
}).listen(Number(process.env.STAND_IN_PORT));
`;
/** Replaces curl and wget in the templates' health checks. */
const FETCH = `#!/usr/bin/env node
fetch(process.argv.at(-1)).then(({ ok }) => process.exit(ok ? 0 : 22), () => process.exit(7));
`;
/** Image of the templates' Redis, and its stand-in. */
const REDIS = { wanted: "redis:7-alpine", standIn: "redis:8-alpine" };
const IMAGES = ["node:24-alpine", "postgres:17-alpine", "mariadb:11", REDIS.standIn, "caddy:2"];

describeLargeDocker("one-click services on Docker", IMAGES, (docker) => {
  let server: DockerServer;
  let folder: string;
  /** Names that this suite has given; one that was there before is left alone. */
  const tagged: string[] = [];

  const isThere = (image: string) =>
    docker.client
      .getImage(image)
      .inspect()
      .then(
        () => true,
        () => false,
      );
  async function build({ image, port, near }: StandIn): Promise<void> {
    if (await isThere(image)) return;
    const files = {
      "application.mjs": APPLICATION,
      fetch: FETCH,
      Dockerfile: [
        "FROM node:24-alpine",
        "COPY fetch /usr/local/bin/curl",
        "COPY fetch /usr/local/bin/wget",
        "COPY application.mjs /application.mjs",
        `ENV STAND_IN_PORT=${port} STAND_IN_NEAR=${near.join(",")}`,
        'ENTRYPOINT ["node", "/application.mjs"]',
      ].join("\n"),
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o755 });
    const source = { context: folder, src: Object.keys(files) };
    const stream = await docker.client.buildImage(source, { t: image, labels: docker.labels });
    await new Promise<void>((resolve, reject) => {
      docker.client.modem.followProgress(stream, (error: Error | null) => (error ? reject(error) : resolve()));
    });
    if (!(await isThere(image))) throw new Error(`The stand-in of ${image} was not built.`);
    tagged.push(image);
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "berth-stand-ins-"));
    server = await dockerServer(docker);
    for (const one of STAND_INS) await build(one);
    await server.rest("PATCH", `/servers/${server.dockerUuid}`, { concurrent_builds: STAND_INS.length });
    if (!(await isThere(REDIS.wanted))) {
      const [repo = "", tag = ""] = REDIS.wanted.split(":");
      await docker.client.getImage(REDIS.standIn).tag({ repo, tag });
      tagged.push(REDIS.wanted);
    }
  });
  afterAll(async () => {
    await server?.dispose();
    for (const image of tagged) await docker.client.getImage(image).remove({ force: true });
    rmSync(folder, { recursive: true, force: true });
  });

  // Most of each is waiting for the next health check of an engine.
  test.concurrent.each(STAND_INS)(
    "[S39] $type is deployed as its template says, and answers at its URL",
    async ({ type, made }) => {
      const where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
      const created = await server.rest("POST", "/services/one-click", { ...where, type, instant_deploy: true });
      expect(created.status, JSON.stringify(created.body)).toBe(201);
      const { uuid, domains } = created.body as { uuid: string; domains: string[] };
      const { body } = await server.rest("GET", `/deployments/services/${uuid}?take=1`);
      const [deployment] = (body as { deployments: { deployment_uuid: string }[] }).deployments;
      const outcome = await outcomeOf(server, deployment?.deployment_uuid ?? "");
      expect(outcome, outcome.log).toMatchObject({ status: "finished" });
      const view = async () => (await server.rest("GET", `/services/${uuid}`)).body as { status: string };
      await until(async () => ((await view()).status === "running:healthy" ? true : undefined), { seconds: 60 });
      const answer = await get(server, new URL(domains[0] ?? "").hostname);
      expect(answer.status, answer.body).toBe(200);
      const env: Record<string, string> = JSON.parse(answer.body);
      expect(env.BERTH_RESOURCE_UUID).toBe(uuid);
      if (made !== undefined) expect(env[made]).toMatch(/^[A-Za-z0-9]{32,64}$/);
      await server.rest("DELETE", `/services/${uuid}`);
      await until(async () => ((await server.rest("GET", `/services/${uuid}`)).status === 404 ? true : undefined), {
        seconds: 60,
      });
    },
  );
});
