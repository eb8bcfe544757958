import {
  DRAIN_DATASET,
  DRAIN_LOGIN,
  type LogDrainServer,
  logDrainServer,
  type RepositoryFiles,
  until,
} from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, type Deployed, deploy, get, placeOf, temporaryRepository } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

/** Prints a numbered line for each request, and as many as the query asks for. */
const counting = (name: string): RepositoryFiles => ({
  "package.json": JSON.stringify({ name, version: "1.0.0", scripts: { start: "node server.js" } }),
  "server.js": `
    const http = require("node:http");
    let line = 0;
    const server = http.createServer((request, response) => {
      const count = Number(new URL(request.url, "http://x").searchParams.get("count") ?? 0);
      for (let at = 0; at < count; at += 1) console.log("${name} " + line++);
      response.end(String(line));
    });
    server.listen(process.env.PORT);
    process.on("SIGTERM", () => server.close(() => process.exit(0)));
  `,
});

const sources = [temporaryRepository(counting("shop")), temporaryRepository(counting("quiet"))] as const;
let server: TestServer;
let receiver: LogDrainServer;
let drains: string;
let shop: Deployed;
let quiet: Deployed;
beforeAll(async () => {
  receiver = await logDrainServer();
  server = await testServer({
    env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1", BERTH_AXIOM_URL: receiver.url },
  });
  drains = `/servers/${(await placeOf(server)).server_uuid}/log-drains`;
  shop = await createApplication(server, sources[0], { name: "shop", is_log_drain_enabled: true });
  quiet = await createApplication(server, sources[1], { name: "quiet" });
  await Promise.all([deploy(server, shop.uuid), deploy(server, quiet.uuid)]);
});
afterAll(async () => {
  await server.dispose();
  await receiver.close();
  for (const source of sources) source.dispose();
});

const change = async (body: object) => expect((await server.rest("PATCH", drains, body)).status).toBe(200);
let printed = 0;
/** Makes both applications print. */
async function print(count: number): Promise<void> {
  for (const { host } of [shop, quiet]) await get(server, host, `/?count=${count}`);
  printed += count;
}
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `shop ${from + at}`);
const arrived = (line: number) =>
  until(() => receiver.texts().includes(`shop ${line}`), { seconds: 60, what: `line ${line} arrives` });

test("lines of an application with the flag arrive once and in order, over a stop, a kill and another receiver", async () => {
  await print(3); // Printed before it is turned on, so not delivered.
  await change({
    is_logdrain_newrelic_enabled: true,
    logdrain_newrelic_license_key: DRAIN_LOGIN.newrelic_license_key,
    logdrain_newrelic_base_uri: `${receiver.url}/log/v1`,
  });
  // A line's time is known to half a second, so those from just before may be delivered too.
  await print(1);
  await arrived(printed - 1);
  const begin = Number(receiver.texts()[0]?.replace("shop ", ""));
  await print(1500);
  await arrived(printed - 1);
  await server.stop();
  await server.start();
  await until(async () => (await get(server, shop.host)).status === 200, { seconds: 60, what: "it answers" });
  printed = 0; // Its process began anew.
  const sent = receiver.lines.length;
  await print(200);
  await arrived(199);
  await until(() => receiver.lines.length >= sent + 200, { what: "all arrive" });
  await change({
    is_logdrain_axiom_enabled: true,
    logdrain_axiom_dataset_name: DRAIN_DATASET,
    logdrain_axiom_api_key: DRAIN_LOGIN.axiom_api_key,
  });
  await print(10);
  await until(() => receiver.lines.length >= sent + 210, { seconds: 60, what: "Axiom gets the rest" });
  expect(receiver.texts()).toEqual([...numbered(begin, 1504), ...numbered(0, 210)]);
  expect(receiver.lines.at(-1)).toMatchObject({
    service: "axiom",
    fields: {
      resource_name: "shop",
      resource_uuid: shop.uuid,
      environment_name: "production",
      server_name: "localhost",
    },
  });
  expect(receiver.lines[0]).toMatchObject({ service: "newrelic", fields: { resource_name: "shop" } });
});

test("a receiver that refuses is a problem of the server, and gets the lines once it accepts them", async () => {
  receiver.fault = () => ({ status: 403, body: { message: "forbidden" } });
  const before = receiver.lines.length;
  await print(5);
  const problem = async () => ((await server.rest("GET", drains)).body as { problem: string | null }).problem;
  await until(async () => (await problem()) === "Axiom answered 403: forbidden", { seconds: 60, what: "it is shown" });
  await server.kill();
  receiver.fault = undefined;
  await server.start();
  await until(() => receiver.lines.length >= before + 5, { seconds: 60, what: "the lines arrive" });
  expect(receiver.texts().slice(before)).toEqual(numbered(printed - 5, printed));
  await until(async () => (await problem()) === null, { seconds: 60, what: "the problem is over" });
  expect(receiver.texts().some((text) => text.startsWith("quiet"))).toBe(false);
});
