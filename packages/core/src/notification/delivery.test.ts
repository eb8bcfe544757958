import { expect, test } from "vitest";
import { deliveryView } from "./delivery.ts";
import { retryInSeconds } from "./delivery-result.ts";

const failed = (fields: object = {}) => ({
  ...{ isDelivered: false as const, problem: "No.", isFinal: false },
  ...fields,
});

test("tries are ever further apart, and end within twelve hours", () => {
  const pauses: number[] = [];
  for (let attempts = 1; ; attempts += 1) {
    const pause = retryInSeconds(attempts, failed());
    if (pause === undefined) break;
    pauses.push(pause);
  }
  expect(pauses).toEqual(pauses.toSorted((a, b) => a - b));
  expect(pauses.length).toBe(8);
  expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeLessThan(12 * 3600);
});

test.each([
  [1, { isFinal: true }, undefined],
  [1, { retryAfterSeconds: 95 }, 95],
  [1, { retryAfterSeconds: 1 }, 10],
  [1, { retryAfterSeconds: 1e9 }, 3600],
  [9, { retryAfterSeconds: 95 }, undefined],
])("after %i tries with %j it is tried in %s seconds", (attempts, fields, seconds) => {
  expect(retryInSeconds(attempts, failed(fields))).toBe(seconds);
});

const record = {
  ...{ id: 1, uuid: "e1", team_id: 7, kind: "webhook" as const, attempts: 2, error: "The webhook answered 500." },
  event: { type: "deployment.failed", resource_uuid: "r1", payload: { resource_name: "shop", error: "Broken." } },
  ...{ next_attempt_at: new Date(0), created_at: new Date(0), ended_at: null },
};

test("a delivery is shown by its title, and by its next try only while it waits", () => {
  expect(deliveryView({ ...record, state: "pending" })).toMatchObject({
    ...{ channel: "webhook", event: "deployment_failed", title: "shop could not be deployed", success: false },
    ...{ state: "pending", next_attempt_at: "1970-01-01T00:00:00.000000Z", ended_at: null },
  });
  expect(deliveryView({ ...record, state: "failed", ended_at: new Date(0) }).next_attempt_at).toBeNull();
});

test("a delivery of a release with other events is shown by its type", () => {
  const event = { type: "later.event", resource_uuid: null, payload: {} };
  expect(deliveryView({ ...record, event, state: "pending" })).toMatchObject({
    event: "later.event",
    title: "later.event",
  });
});
