import { DomainError } from "@berth/core";
import type { DeliveryResult } from "@berth/core/notification";
import type { NotificationSender } from "@berth/core/ports";
import { type TestDatabase, testDatabase, until } from "@berth/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
let world: World;
beforeEach(async () => {
  database = await testDatabase();
  world = await openWorld(database);
});
afterEach(async () => {
  await world.close();
  await database.close();
});

type Sending = Parameters<NotificationSender>[0];

/** A receiver that answers one result after the other, the last one for ever. */
function receiver(...results: readonly DeliveryResult[]) {
  const received: Sending[] = [];
  const left = [...results];
  const send: NotificationSender = async (sending) => {
    received.push(sending);
    const next = left.length > 1 ? left.shift() : left[0];
    return next ?? { isDelivered: true };
  };
  return { received, notifications: { send, instanceUrl: "https://berth.example" } };
}

const refused = (fields: object = {}): DeliveryResult => ({
  ...{ isDelivered: false, problem: "The webhook answered 500.", isFinal: false },
  ...fields,
});

const enable = (stores = world.stores) =>
  stores.notifications.save("webhook", {
    ...{ isEnabled: true, events: ["deployment_success", "deployment_failure"] },
    settings: { webhook_url: "https://hooks.example/x" },
  });
const happen = (stores = world.stores) =>
  stores.events.append({ type: "deployment.failed", resource_uuid: null, payload: { resource_name: "shop" } });
const deliveries = async () => (await world.stores.notifications.deliveries({})).items;
const ended = () =>
  until(
    async () => {
      const all = await deliveries();
      return all.length > 0 && all.every(({ state }) => state !== "pending") ? all : undefined;
    },
    { what: "the deliveries end" },
  );

test("a deployment that succeeds and one that fails are reported, with the same uuid as their deliveries", async () => {
  const { received, notifications } = receiver();
  world.worker({ notifications });
  await enable();
  const application = await world.application();
  expect(await world.ended(await world.deploy(application))).toMatchObject({ status: "finished", error: null });
  await until(() => received.length === 1);
  world.points.fail("checkout", new DomainError("source.unreachable", "The host does not answer."));
  await world.ended(await world.deploy(application));
  await until(() => received.length === 2);
  expect(received.map(({ notification }) => notification.event)).toEqual(["deployment_success", "deployment_failed"]);
  expect(received[0]).toMatchObject({
    ...{ kind: "webhook", settings: { webhook_url: "https://hooks.example/x" } },
    notification: {
      fields: { application_uuid: application.uuid, project: expect.any(String), environment: expect.any(String) },
    },
  });
  const sent = received.map(({ uuid }) => uuid).toSorted();
  expect((await ended()).map(({ uuid, state }) => [uuid, state]).toSorted()).toEqual(
    sent.map((uuid) => [uuid, "delivered"]),
  );
});

test("what happened while no worker ran is sent by the next one", async () => {
  await enable();
  await happen();
  const { received, notifications } = receiver();
  world.worker({ notifications });
  await until(() => received.length === 1);
  expect(await ended()).toMatchObject([{ state: "delivered", attempts: 1, error: null }]);
});

test("a delivery whose worker is killed while it sends, or before it writes the result, is sent again with the same uuid", async () => {
  await enable();
  await happen();
  const { received, notifications } = receiver();
  const first = world.worker({
    notifications,
    settings: { notificationLeaseSeconds: 0.5 },
    watch: { after: (name) => name === "notifications.send" && first.kill() },
  });
  await until(() => first.life.isOver);
  expect((await deliveries())[0]).toMatchObject({ state: "pending", attempts: 1 });
  world.worker({ notifications, settings: { notificationLeaseSeconds: 0.5 } });
  expect(await ended()).toMatchObject([{ state: "delivered", attempts: 2 }]);
  expect(new Set(received.map(({ uuid }) => uuid)).size).toBe(1);
  expect(received.length).toBe(2);
});

test("several control planes send each delivery once", async () => {
  const { received, notifications } = receiver();
  for (let n = 0; n < 3; n += 1) world.worker({ notifications });
  await enable();
  await Promise.all(Array.from({ length: 30 }, () => happen()));
  await until(async () => (await deliveries()).filter(({ state }) => state === "delivered").length === 30);
  expect(received.length).toBe(30);
  expect(new Set(received.map(({ uuid }) => uuid)).size).toBe(30);
});

test("a receiver that fails is tried again after its pause, and one that refuses for good is not", async () => {
  const { received, notifications } = receiver(refused({ retryAfterSeconds: 77 }));
  world.worker({ notifications });
  await enable();
  await happen();
  await until(async () => (await deliveries())[0]?.error !== null);
  const [waiting] = await deliveries();
  expect(waiting).toMatchObject({ state: "pending", attempts: 1, error: "The webhook answered 500." });
  const pause = ((waiting?.next_attempt_at.getTime() ?? 0) - Date.now()) / 1000;
  expect(pause).toBeGreaterThan(60);
  expect(pause).toBeLessThan(78);
  expect(received.length).toBe(1);
});

test("a refusal for good is recorded with its reason, and tried once", async () => {
  const { received, notifications } = receiver(refused({ isFinal: true, problem: "Discord answered 404." }));
  world.worker({ notifications });
  await enable();
  await happen();
  expect(await ended()).toMatchObject([{ state: "failed", attempts: 1, error: "Discord answered 404." }]);
  expect(received.length).toBe(1);
});

test("a channel that was turned off meanwhile gets nothing more", async () => {
  await enable();
  await happen();
  await world.stores.notifications.save("webhook", { isEnabled: false, events: [], settings: {} });
  const { received, notifications } = receiver();
  world.worker({ notifications });
  expect(await ended()).toMatchObject([{ state: "failed", error: "The channel was turned off." }]);
  expect(received).toEqual([]);
});

test("a team whose receivers do not answer delays no other, and has a few calls at once", async () => {
  const received: Sending[] = [];
  const never = new Promise<DeliveryResult>(() => undefined);
  const notifications = {
    instanceUrl: null,
    send: (sending: Sending) => {
      received.push(sending);
      const { webhook_url } = { webhook_url: "", ...sending.settings };
      return webhook_url.includes("slow") ? never : Promise.resolve<DeliveryResult>({ isDelivered: true });
    },
  };
  world.worker({ notifications });
  await enable();
  const slow = database.stores((await database.stores(0).teams.insert({ name: "slow", description: null })).id);
  await slow.notifications.save("webhook", {
    ...{ isEnabled: true, events: ["deployment_failure"], settings: { webhook_url: "https://slow.example/" } },
  });
  for (let n = 0; n < 30; n += 1) await happen(slow);
  await until(() => received.length >= 4);
  for (let n = 0; n < 5; n += 1) await happen();
  expect(await ended()).toHaveLength(5);
  expect(received.length).toBe(9);
});

test("a worker without a sender leaves deliveries to another one", async () => {
  world.worker();
  await enable();
  await happen();
  const { received, notifications } = receiver();
  world.worker({ notifications });
  await until(() => received.length === 1);
});
