import type { NotificationEvent } from "@berth/core/notification";
import type { ClaimedDelivery, Stores, SystemStores } from "@berth/core/ports";
import { type TestDatabase, testApplication, testPlace, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  let db: TestDatabase;
  let stores: Stores;
  let system: SystemStores;
  beforeAll(() => {
    db = database();
    system = db.system;
  });
  const newTeam = async () => db.stores((await db.stores(0).teams.insert({ name: testUuid(), description: null })).id);
  beforeEach(async () => {
    stores = await newTeam();
    await sql`delete from notification_delivery`.execute(db.database.kysely);
  });

  const enable = (events: readonly NotificationEvent[], of = stores) =>
    of.notifications.save("webhook", { isEnabled: true, events, settings: { webhook_url: "https://h.example/x" } });
  const happen = (type = "deployment.failed", of = stores) =>
    of.events.append({ type, resource_uuid: "r1", payload: { resource_name: "shop\0" } });
  const deliveries = async (of = stores) => (await of.notifications.deliveries({})).items;
  const results = async () =>
    (await stores.events.list({}))
      .filter(({ type }) => type.startsWith("notification."))
      .map(({ type, payload }) => [type, payload]);
  const claim = (request: object = {}) =>
    system.notifications.claim({ countMax: 20, perTeamMax: 20, running: [], leaseSeconds: 60, ...request });
  const only = ([delivery, ...others]: readonly ClaimedDelivery[]): ClaimedDelivery => {
    if (delivery === undefined || others.length > 0) throw new Error(`${others.length} deliveries, not one.`);
    return delivery;
  };

  it("keeps a channel's settings, which are the defaults before", async () => {
    expect(await stores.notifications.settings("slack")).toMatchObject({
      slack_enabled: false,
      slack_webhook_url: null,
    });
    const settings = { slack_webhook_url: "https://hooks.example/sesame" };
    await stores.notifications.save("slack", { isEnabled: false, events: [], settings });
    await stores.notifications.save("slack", { isEnabled: true, events: ["backup_failure"], settings });
    expect(await stores.transaction((tx) => tx.notifications.settingsForUpdate("slack"))).toMatchObject(settings);
    const { rows } = await sql<{ text: string }>`select c::text as text from notification_channel c`.execute(
      db.database.kysely,
    );
    expect(rows.some(({ text }) => Buffer.from(text).includes("sesame"))).toBe(false);
  });

  it("cannot read settings that were copied to another team or kind", async () => {
    await enable([]);
    const other = await db.stores(0).teams.insert({ name: testUuid(), description: null });
    await sql`insert into notification_channel (team_id, kind, is_enabled, events, settings)
      select ${other.id}, kind, true, events, settings from notification_channel
      where kind = 'webhook'`.execute(db.database.kysely);
    await expect(db.stores(other.id).notifications.settings("webhook")).rejects.toThrow(/cannot be decrypted/);
  });

  it("queues an event that a channel asks for, with the event itself, and no other", async () => {
    await happen();
    await enable(["deployment_failure"]);
    await happen();
    await happen("deployment.finished");
    await happen("deployment.queued");
    const [delivery, ...others] = await deliveries();
    expect(others).toEqual([]);
    expect(delivery).toMatchObject({
      ...{ kind: "webhook", state: "pending", attempts: 0, error: null, ended_at: null },
      event: { type: "deployment.failed", resource_uuid: "r1", payload: { resource_name: "shop\uFFFD" } },
    });
    expect(await system.queues.busy()).toContain("notification");
  });

  it("queues nothing for a transaction that is rolled back, for a channel that is off, or for another team", async () => {
    await enable(["deployment_failure"]);
    const failure = stores.transaction(async (tx) => {
      await tx.events.append({ type: "deployment.failed", resource_uuid: null, payload: {} });
      throw new Error("no");
    });
    await expect(failure).rejects.toThrow("no");
    await happen("deployment.failed", await newTeam());
    await stores.notifications.save("webhook", { isEnabled: false, events: ["deployment_failure"], settings: {} });
    await happen();
    expect(await deliveries()).toEqual([]);
    expect(await system.queues.busy()).not.toContain("notification");
  });

  it("queues one for each channel, and each event of a transaction", async () => {
    await enable(["deployment_failure", "backup_failure"]);
    const settings = { slack_webhook_url: "https://h.example/" };
    await stores.notifications.save("slack", { isEnabled: true, events: ["backup_failure"], settings });
    await stores.transaction(async (tx) => {
      for (const type of ["deployment.failed", "backup.failed", "job.queued"]) {
        await tx.events.append({ type, resource_uuid: null, payload: {} });
      }
    });
    expect((await deliveries()).map(({ kind, event }) => `${kind} ${event.type}`).toSorted()).toEqual([
      "slack backup.failed",
      "webhook backup.failed",
      "webhook deployment.failed",
    ]);
  });

  it("lists deliveries by channel and state, in pages, the newest first", async () => {
    await enable(["deployment_failure"]);
    for (let n = 0; n < 5; n += 1) await happen();
    await system.notifications.record(only(await claim({ countMax: 1 })), { isDelivered: true }, undefined);
    const { items, total } = await stores.notifications.deliveries({ state: "pending" }, { skip: 1, take: 2 });
    expect([items.length, total]).toEqual([2, 4]);
    expect(items[0]?.id).toBeGreaterThan(items[1]?.id ?? 0);
    expect((await stores.notifications.deliveries({ kind: "slack" })).items).toEqual([]);
    expect((await stores.notifications.deliveries({ kind: "webhook", state: "delivered" })).items).toHaveLength(1);
  });

  it("hands each delivery to one worker, with its settings and what is known of its subject", async () => {
    const place = await testPlace(stores);
    const application = await testApplication(stores, place);
    await enable(["deployment_failure"]);
    await stores.events.append({
      ...{ type: "deployment.failed", resource_uuid: application.uuid },
      payload: { resource_name: application.name, pull_request_id: 0 },
    });
    const both = await Promise.all([claim(), claim()]);
    const delivery = only(both.flat());
    expect(delivery).toMatchObject({
      ...{ attempts: 1, memberAddresses: [], settings: { webhook_url: "https://h.example/x" } },
      facts: {
        resource: {
          ...{ kind: "application", name: application.name },
          ...{ project: place.project.name, environment: place.environment.name, preview_fqdn: null },
        },
        ...{ backup: null, task: null },
      },
    });
    expect(await claim()).toEqual([]);
    expect(await system.queues.busy()).not.toContain("notification");
  });

  it("hands a delivery out again when its lease has run out, and then ignores the first worker's result", async () => {
    await enable(["deployment_failure"]);
    await happen();
    const first = only(await claim({ leaseSeconds: -1 }));
    const second = only(await claim());
    expect(second).toMatchObject({ id: first.id, attempts: 2 });
    await system.notifications.record(first, { isDelivered: true }, undefined);
    expect((await deliveries())[0]?.state).toBe("pending");
    expect(await results()).toEqual([]);
    await system.notifications.record(second, { isDelivered: false, problem: "No\0.", isFinal: false }, 30);
    expect((await deliveries())[0]).toMatchObject({ state: "pending", error: "No\uFFFD.", ended_at: null });
    expect(await claim()).toEqual([]);
    const waitMs = ((await deliveries())[0]?.next_attempt_at.getTime() ?? 0) - Date.now();
    expect(waitMs).toBeGreaterThan(20_000);
    expect(waitMs).toBeLessThan(31_000);
  });

  it("emits an event for each result, of which none is delivered itself", async () => {
    await enable(["deployment_failure"]);
    const outcomes = [
      [{ isDelivered: false, problem: "Busy.", isFinal: false }, -1],
      [{ isDelivered: true }, undefined],
      [{ isDelivered: false, problem: "Gone.", isFinal: true }, undefined],
    ] as const;
    await happen();
    for (const [result, retrySeconds] of outcomes.slice(0, 2)) {
      await system.notifications.record(only(await claim()), result, retrySeconds);
    }
    await happen();
    await system.notifications.record(only(await claim()), outcomes[2][0], undefined);
    const of = { channel: "webhook", event: "deployment.failed", delivery_uuid: expect.any(String) };
    expect(await results()).toEqual([
      ["notification.delayed", { ...of, error: "Busy." }],
      ["notification.delivered", of],
      ["notification.failed", { ...of, error: "Gone." }],
    ]);
    expect(await deliveries()).toHaveLength(2);
  });

  it("hands out a share for each team, with what already runs", async () => {
    await enable(["deployment_failure"]);
    for (let n = 0; n < 5; n += 1) await happen();
    const other = await newTeam();
    await enable(["deployment_failure"], other);
    await happen("deployment.failed", other);
    const claimed = await claim({ perTeamMax: 2 });
    const teamIds = claimed.map(({ team_id }) => team_id);
    expect(new Set(teamIds.map((id) => teamIds.filter((one) => one === id).length))).toEqual(new Set([1, 2]));
    expect(await claim({ perTeamMax: 2, running: teamIds })).toEqual([]);
    expect(await claim({ perTeamMax: 3, running: teamIds })).toHaveLength(1);
  });

  it("has no settings for a channel that was turned off meanwhile", async () => {
    await enable(["deployment_failure"]);
    await happen();
    await stores.notifications.save("webhook", { isEnabled: false, events: [], settings: {} });
    expect(only(await claim()).settings).toBeUndefined();
  });

  it("forgets deliveries that ended long ago, and with their team", async () => {
    await enable(["deployment_failure"]);
    await happen();
    await happen();
    await system.notifications.record(only(await claim({ countMax: 1 })), { isDelivered: true }, undefined);
    expect(await system.notifications.prune(1)).toBe(0);
    expect(await system.notifications.prune(-1)).toBe(1);
    expect((await deliveries()).map(({ state }) => state)).toEqual(["pending"]);
  });
});
