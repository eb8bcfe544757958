import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describeDocker, sshKeyPair, until } from "@berth/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createApplication,
  deployFirst,
  made,
  outcomeOf,
  plainServer,
  requestDeployment,
  temporaryRepository,
} from "./applications.fixture.ts";
import { dockerServer } from "./docker.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Builds long enough that a second deployment would begin meanwhile. */
const slow = temporaryRepository({
  "package.json": JSON.stringify({
    name: "slow",
    version: "1.0.0",
    scripts: { build: "sleep 2", start: "node server.js" },
  }),
  "server.js": `require("node:http").createServer((_, answer) => answer.end("ok")).listen(process.env.PORT);`,
});
const plain = temporaryRepository(plainServer("one"));
let server: TestServer;
beforeAll(async () => {
  server = await testServer({
    env: {
      BERTH_REPORTED_VERSION: "4.1.7",
      BERTH_TEAM_SERVERS: "1",
      BERTH_PARALLEL_DEPLOYMENTS: "1",
      BERTH_RATE_LIMIT: "100000",
    },
  });
});
afterAll(async () => {
  await server?.dispose();
  slow.dispose();
  plain.dispose();
});

it("BERTH_REPORTED_VERSION is what clients are told", async () => {
  expect(await server.rest("GET", "/version")).toMatchObject({ status: 200, body: "4.1.7" });
});

it("BERTH_TEAM_SERVERS counts this machine", async () => {
  const key = await made(server, "/security/keys", { private_key: sshKeyPair().privateKey });
  const fields = { name: "second", ip: "192.0.2.1", port: 22, user: "root", private_key_uuid: key };
  const { status, body } = await server.rest("POST", "/servers", fields);
  expect([status, body]).toMatchObject([400, { message: "Server limit reached for your subscription." }]);
});

it("BERTH_PARALLEL_DEPLOYMENTS=1 runs one deployment after the other, whatever their applications are", async () => {
  const applications = await Promise.all(["one", "two"].map((name) => createApplication(server, slow, { name })));
  const deployments = await Promise.all(applications.map(({ uuid }) => requestDeployment(server, uuid)));
  for (const { status, log } of await Promise.all(deployments.map((uuid) => outcomeOf(server, uuid)))) {
    expect(status, log).toBe("finished");
  }
  const periods = await Promise.all(
    deployments.map(async (uuid) => {
      const { body } = await server.rest("GET", `/deployments/${uuid}`);
      const { started_at, finished_at } = body as { started_at: string; finished_at: string };
      return { began: Date.parse(started_at), ended: Date.parse(finished_at) };
    }),
  );
  const [first, second] = periods.toSorted((one, other) => one.began - other.began);
  expect(second?.began).toBeGreaterThanOrEqual(first?.ended ?? Number.NaN);
});

it("BERTH_RATE_LIMIT is what answers say is left of", async () => {
  const { headers } = await server.rest("GET", "/projects");
  expect(headers.get("x-ratelimit-limit")).toBe("100000");
});

describeDocker("BERTH_ACME_EMAIL and BERTH_ACME_DIRECTORY", ["caddy:2"], (docker) => {
  it("are what the proxy of the engine asks for certificates with", async () => {
    // Nothing listens there, so no certificate is asked for anywhere.
    const [email, directory] = ["acme@example.com", "https://127.0.0.1:1/directory"];
    const machine = await dockerServer(docker, {
      env: { BERTH_ACME_EMAIL: email, BERTH_ACME_DIRECTORY: directory },
    });
    try {
      const { uuid } = await createApplication(machine, plain, { domains: "https://shop.example.com" });
      await deployFirst(machine, uuid);
      const configurations = () =>
        readdirSync(machine.dataFolder, { recursive: true, encoding: "utf8" })
          .filter((path) => path.includes("proxy") && path.endsWith(".json"))
          .map((path) => readFileSync(join(machine.dataFolder, path), "utf8"));
      const isAsked = () => configurations().some((text) => text.includes(email) && text.includes(directory));
      await until(isAsked, { what: "its configuration names both", seconds: 60 });
    } finally {
      await machine.dispose();
    }
  });
});
