import { type NotificationServer, notificationServer, until } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, type Deployed, deploy, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

const repository = temporaryRepository(plainServer("one"));
let server: TestServer;
let receiver: NotificationServer;
let shop: Deployed;
beforeAll(async () => {
  receiver = await notificationServer();
  server = await testServer({
    env: { BERTH_ALLOWED_PRIVATE_HOSTS: "127.0.0.1", BERTH_PUBLIC_URL: "http://berth.example" },
  });
  const body = {
    ...{ webhook_enabled: true, webhook_url: receiver.webhookUrl },
    ...{ deployment_success_webhook_notifications: true, deployment_failure_webhook_notifications: true },
  };
  expect((await server.rest("PATCH", "/notifications/webhook", body)).status).toBe(200);
  shop = await createApplication(server, repository, { name: "shop" });
});
afterAll(async () => {
  await server.dispose();
  await receiver.close();
  repository.dispose();
});

const deployed = async () => (await deploy(server, shop.uuid)).uuid;

const received = (deploymentUuid: string) =>
  receiver.received.filter(({ json }) => json.deployment_uuid === deploymentUuid);
const deliveries = async (state: string) => {
  const { body } = await server.rest("GET", `/notifications/deliveries?state=${state}`);
  return body as { uuid: string; title: string; attempts: number }[];
};

test("a deployment's success and failure arrive at a webhook, once each, as the API family sends them", async () => {
  const good = await deployed();
  await until(() => received(good).length > 0);
  repository.commit(
    { "package.json": JSON.stringify({ scripts: { build: "exit 3", start: "node server.js" } }) },
    "Break",
  );
  const bad = await deployed();
  await until(() => received(bad).length > 0);
  expect([...received(good), ...received(bad)].map(({ json }) => json)).toEqual([
    {
      ...{ success: true, event: "deployment_success", url: `http://berth.example/deployments/${good}` },
      message: expect.stringContaining("shop is deployed"),
      ...{ application_name: "shop", application_uuid: shop.uuid, deployment_uuid: good },
      deployment_url: `http://berth.example/deployments/${good}`,
      ...{ project: expect.any(String), environment: "production", fqdn: expect.stringContaining(shop.host) },
    },
    {
      ...{ success: false, event: "deployment_failed", url: `http://berth.example/deployments/${bad}` },
      message: expect.stringContaining("shop could not be deployed"),
      ...{ application_name: "shop", application_uuid: shop.uuid, deployment_uuid: bad },
      deployment_url: `http://berth.example/deployments/${bad}`,
      ...{ project: expect.any(String), environment: "production", fqdn: expect.stringContaining(shop.host) },
    },
  ]);
  const uuids = [...received(good), ...received(bad)].map(({ headers }) => headers["x-berth-delivery"]);
  await until(async () => (await deliveries("delivered")).length >= 2);
  expect((await deliveries("delivered")).map(({ uuid }) => uuid)).toEqual(expect.arrayContaining(uuids));
});

test("a server that is killed before a receiver accepts a notification sends it after its restart", async () => {
  receiver.faults.push("broken");
  receiver.isBroken = true;
  const bad = await deployed();
  await until(() => received(bad).length === 1);
  await server.kill();
  receiver.isBroken = false;
  receiver.faults.length = 0;
  await server.start();
  await until(() => received(bad).length === 2, { seconds: 60, what: "the notification is sent again" });
  const [first, second] = received(bad);
  expect(second?.headers["x-berth-delivery"]).toBe(first?.headers["x-berth-delivery"]);
  expect(second?.body).toBe(first?.body);
});
