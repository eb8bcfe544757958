import { Agent } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  createApplication,
  type Deployed,
  deploy,
  getKept,
  plainServer,
  temporaryRepository,
} from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const DEPLOYMENTS = 10;
const REQUESTS_MIN = 2_000;
const CLIENTS = 8;

let server: TestServer;
let plain: Deployed;
const source = temporaryRepository(plainServer("0"));
beforeAll(async () => {
  server = await testServer();
  plain = await createApplication(server, source, { name: "plain" });
  expect(await deploy(server, plain.uuid)).toMatchObject({ status: "finished" });
});
afterAll(async () => {
  await server.dispose();
  source.dispose();
});

it(`answers ${REQUESTS_MIN} and more requests on kept connections through ${DEPLOYMENTS} deployments, and none fails`, async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const seen = new Map<string, number>();
  const failures: string[] = [];
  let isDeploying = true;
  let sent = 0;
  const client = async (index: number) => {
    while (isDeploying || sent < REQUESTS_MIN) {
      sent += 1;
      await getKept(server, plain.host, agent, sent % 40 === index ? "/slow" : "/").then(
        (body) => seen.set(body, (seen.get(body) ?? 0) + 1),
        (cause: unknown) => failures.push(String(cause)),
      );
    }
  };
  const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
  for (let version = 1; version <= DEPLOYMENTS; version += 1) {
    source.commit(plainServer(String(version)));
    const outcome = await deploy(server, plain.uuid);
    expect(outcome, outcome.log).toMatchObject({ status: "finished" });
  }
  isDeploying = false;
  await Promise.all(clients);
  expect(await getKept(server, plain.host, agent, "/")).toBe(String(DEPLOYMENTS));
  agent.destroy();

  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThanOrEqual(REQUESTS_MIN);
  expect([...seen.keys()].length).toBeGreaterThanOrEqual(DEPLOYMENTS);
});
