// Failed requests during repeated Docker deployments behind Caddy, of which some never become healthy: none may fail.
import { randomBytes } from "node:crypto";
import { deploy, placeOf } from "../apps/server/e2e/applications.fixture.ts";
import { dockerServer } from "../apps/server/e2e/docker.fixture.ts";
import { dockerClient } from "../packages/docker-client/src/client.ts";
import { localHost } from "../packages/host/src/local-host.ts";
import { LOAD_HOST, LOAD_SERVER, startClients } from "../packages/proxy/src/caddy/load-clients.fixture.ts";
import { removeLabelled, testInstance } from "../packages/testing/src/docker-leftovers.ts";
import { atMost, type Figure } from "./report.ts";

const DEPLOYMENTS = 12;
const REQUESTS = 10_000;
const REQUESTS_PER_SECOND = 400;
/** After this many deployments, one follows whose candidate answers with errors. */
const SICK_EVERY = 5;

const program = (source: string) =>
  ["FROM node:24-alpine", `CMD ${JSON.stringify(["node", "-e", source])}`, ""].join("\n");
const SICK = 'require("node:http").createServer((_, response) => response.writeHead(503).end()).listen(3000)';

export async function benchDockerSwitch(): Promise<readonly Figure[]> {
  const run = `berth-bench-${randomBytes(4).toString("hex")}`;
  const instance = testInstance(run);
  const berth = await dockerServer({ instance, name: (hint) => `${run}-${hint}` });
  const ask = async (method: "POST" | "PATCH", path: string, fields: object) => {
    const { status, body } = await berth.rest(method, path, fields);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body as { uuid: string };
  };
  const clients = startClients({ port: berth.proxyPort, requestsPerSecond: REQUESTS_PER_SECOND });
  try {
    const { uuid } = await ask("POST", "/applications/dockerfile", {
      ...(await placeOf(berth)),
      server_uuid: berth.dockerUuid,
      dockerfile: program(LOAD_SERVER),
      ports_exposes: "3000",
      domains: `http://${LOAD_HOST}`,
      health_check_enabled: true,
      health_check_interval: 1,
      health_check_retries: 3,
    });
    await ended("finished");
    clients.begin();
    let refused = 0;
    for (let number = 1; number <= DEPLOYMENTS; number += 1) {
      await ended("finished");
      if (number % SICK_EVERY !== 0) continue;
      await ask("PATCH", `/applications/${uuid}`, { dockerfile: program(SICK) });
      await ended("failed");
      refused += 1;
      await ask("PATCH", `/applications/${uuid}`, { dockerfile: program(LOAD_SERVER) });
    }
    while (clients.requests() < REQUESTS) await new Promise((resolve) => setTimeout(resolve, 50));
    const { failures, messages, releases } = await clients.end();
    console.log(`  ${clients.requests()} requests, ${messages} messages over WebSockets, ${releases} releases`);
    console.log(`  ${refused} candidates never got healthy`);
    for (const failure of failures.slice(0, 10)) console.log(`  ${failure}`);
    const name = `Requests and WebSockets failed in ${DEPLOYMENTS} deployments to Docker, of ${REQUESTS} and more at ${REQUESTS_PER_SECOND}/s`;
    return [atMost(name, failures.length, 0)];

    async function ended(wanted: string): Promise<void> {
      const { status, log } = await deploy(berth, uuid);
      if (status !== wanted) throw new Error(`The deployment ${status}:\n${log}`);
    }
  } finally {
    await clients.end();
    await berth.dispose();
    const docker = dockerClient(localHost("here"));
    for (const failure of await removeLabelled(docker, `berth.instance=${instance}`)) console.log(`  ${failure}`);
  }
}
