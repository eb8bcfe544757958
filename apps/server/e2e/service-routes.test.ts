import { describeDocker, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { get, outcomeOf, placeOf } from "./applications.fixture.ts";
import { type DockerServer, dockerServer } from "./docker.fixture.ts";

/** Answers with the container's name, a file that is mounted into it, and two of its variables. */
const PROGRAM = [
  "const { NAME, TZ, SECRET_KEY } = process.env, fs = require('node:fs');",
  "const file = () => fs.existsSync('/etc/app.conf') ? fs.readFileSync('/etc/app.conf', 'utf8') : null;",
  "const answer = () => JSON.stringify({ NAME, TZ, SECRET_KEY, file: file() });",
  "require('node:http').createServer((_, response) => response.end(answer())).listen(Number(process.env.PORT ?? 80));",
].join(" ");

const container = (lines: string) => `
    image: node:24-alpine
    command: ["node", "-e", ${JSON.stringify(PROGRAM.replaceAll("$", "$$$$"))}]
    environment:
${lines.replace(/^/gm, "      - ")}`;

/** Typical for existing compose files: without volumes, and with variables that name no container. */
const COMPOSE = `
services:
  hub:${container("NAME=hub")}
  front:${container("NAME=front\nSERVICE_URL_HUB=/\nTZ=${TZ:?UTC}\nSECRET_KEY=${SECRET_KEY:?${SERVICE_PASSWORD_64_HUB}}")}
    volumes:
      - { type: bind, source: ./app.conf, target: /etc/app.conf, content: "key = $KEY \${OTHER}" }
  live:${container("NAME=live\nPORT=8080\nSERVICE_URL_HUB_8080=/v1/live")}
  second:${container("NAME=second\nPORT=3000\nSERVICE_URL_SECOND_3000\nFRONT=$SERVICE_URL_HUB")}
`;

describeDocker("the URLs of a compose file on Docker", ["node:24-alpine", "caddy:2"], (docker) => {
  let server: DockerServer;
  beforeAll(async () => {
    server = await dockerServer(docker);
  });
  afterAll(() => server?.dispose());

  test("each lead to the container that asks for them, by host and by path", async () => {
    const where = { ...(await placeOf(server)), server_uuid: server.dockerUuid };
    const sent = { ...where, docker_compose: COMPOSE, instant_deploy: true };
    const created = await server.rest("POST", "/services", sent);
    expect(created.status, JSON.stringify(created.body)).toBe(201);
    const { uuid, domains } = created.body as { uuid: string; domains: string[] };
    const host = `hub-${uuid}.localhost`;
    expect(domains).toEqual([`http://${host}`, `http://${host}:8080/v1/live`, `http://second-${uuid}.localhost:3000`]);
    const { body: list } = await server.rest("GET", `/deployments/services/${uuid}?take=1`);
    const [deployment] = (list as { deployments: { deployment_uuid: string }[] }).deployments;
    const outcome = await outcomeOf(server, deployment?.deployment_uuid ?? "");
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });

    const answerAt = (name: string, path: string) =>
      until(
        async () => {
          const answer = await get(server, name, path).catch(() => undefined);
          return answer?.status === 200 ? (JSON.parse(answer.body) as Record<string, string>) : undefined;
        },
        { seconds: 60 },
      );
    expect(await answerAt(host, "/")).toEqual({
      NAME: "front",
      TZ: "UTC",
      SECRET_KEY: expect.stringMatching(/^[A-Za-z0-9]{64}$/),
      file: "key = $KEY ${OTHER}",
    });
    expect(await answerAt(host, "/v1/live")).toMatchObject({ NAME: "live" });
    expect(await answerAt(`second-${uuid}.localhost`, "/")).toMatchObject({ NAME: "second" });
    const { body: envs } = await server.rest("GET", `/services/${uuid}/envs`);
    const keys = (envs as { key: string }[]).map(({ key }) => key);
    expect(keys).not.toContain("KEY");
    expect(keys).not.toContain("OTHER");
    await server.rest("DELETE", `/services/${uuid}`);
  });
});
