import { describe, expect, test } from "vitest";
import { EVENT_TYPES } from "../team/event.ts";
import { NO_FACTS, type NotificationFacts, type NotifiedEvent, notificationOf, settingOf } from "./notification.ts";

const resource: NonNullable<NotificationFacts["resource"]> = {
  kind: "application",
  ...{ name: "shop", project: "Main", environment: "production" },
  ...{ fqdn: "https://shop.example", preview_fqdn: null },
};
const place = { project: "Main", environment: "production" };
const INSTANCE = "https://berth.example/";

const built = (type: string, payload: NotifiedEvent["payload"], facts: Partial<NotificationFacts> = {}) =>
  notificationOf({ type, resource_uuid: "r1", payload }, { ...NO_FACTS, resource, ...facts }, INSTANCE);

const DEPLOYED = { resource_name: "shop", deployment_uuid: "d1", pull_request_id: 0 };
const backup = { engine: "postgresql", frequency: "daily", message: null, s3_uploaded: true };
const task = { message: "done\n", error: null };

/** What each type becomes: the setting, the event of a webhook, and its further fields. */
const TABLE: readonly (readonly [
  type: string,
  payload: NotifiedEvent["payload"],
  facts: Partial<NotificationFacts>,
  setting: string,
  event: string,
  fields: object,
])[] = [
  [
    "deployment.finished",
    DEPLOYED,
    {},
    "deployment_success",
    "deployment_success",
    {
      ...{ application_name: "shop", application_uuid: "r1", deployment_uuid: "d1", ...place },
      ...{ deployment_url: "https://berth.example/deployments/d1", fqdn: "https://shop.example" },
    },
  ],
  [
    "deployment.failed",
    { ...DEPLOYED, pull_request_id: 7, error: "Broken." },
    { resource: { ...resource, preview_fqdn: "https://7.shop.example" } },
    "deployment_failure",
    "deployment_failed",
    {
      ...{ application_name: "shop", application_uuid: "r1", deployment_uuid: "d1", ...place },
      ...{ deployment_url: "https://berth.example/deployments/d1" },
      ...{ pull_request_id: 7, preview_fqdn: "https://7.shop.example" },
    },
  ],
  [
    "resource.status_changed",
    {
      resource_name: "shop",
      status: "running:unhealthy",
      previous_status: "running:healthy",
      desired_state: "running",
    },
    {},
    "status_change",
    "status_changed",
    {
      ...{ resource_name: "shop", resource_uuid: "r1", ...place },
      ...{ status: "running:unhealthy", previous_status: "running:healthy" },
    },
  ],
  [
    "resource.restart_limit_reached",
    { resource_name: "shop", resource_kind: "application", restart_count: 10 },
    {},
    "status_change",
    "container_stopped",
    { resource_name: "shop", resource_uuid: "r1", ...place },
  ],
  [
    "resource.scale_failed",
    { resource_name: "shop", resource_kind: "application", from: 1, to: 3, error: "No such image." },
    {},
    "status_change",
    "scale_failed",
    { resource_name: "shop", resource_uuid: "r1", ...place },
  ],
  [
    "resource.certificate_expiring",
    { name: "db", expires_at: "2026-12-01T00:00:00Z" },
    { resource: null },
    "status_change",
    "certificate_expiring",
    { resource_name: "db", resource_uuid: "r1" },
  ],
  [
    "backup.finished",
    { database_name: "db" },
    { backup },
    "backup_success",
    "backup_success",
    { database_name: "db", database_uuid: "r1", database_type: "postgresql", frequency: "daily", ...place },
  ],
  [
    "backup.finished",
    { database_name: "db" },
    { backup: { ...backup, s3_uploaded: false } },
    "backup_success",
    "backup_success_with_s3_warning",
    { database_name: "db", database_uuid: "r1", database_type: "postgresql", frequency: "daily", ...place },
  ],
  [
    "backup.failed",
    { database_name: "db" },
    {},
    "backup_failure",
    "backup_failed",
    { database_name: "db", database_uuid: "r1", database_type: null, frequency: null, ...place },
  ],
  [
    "drill.failed",
    { database_name: "db" },
    {},
    "backup_failure",
    "backup_failed",
    { database_name: "db", database_uuid: "r1", database_type: null, frequency: null, ...place },
  ],
  [
    "scheduled_task.finished",
    { task_name: "nightly", task_uuid: "t1" },
    { task },
    "scheduled_task_success",
    "task_success",
    { task_name: "nightly", task_uuid: "t1", output: "done", ...place },
  ],
  [
    "scheduled_task.failed",
    { task_name: "nightly", task_uuid: "t1" },
    { task: { message: null, error: "It exited with code 3." } },
    "scheduled_task_failure",
    "task_failed",
    { task_name: "nightly", task_uuid: "t1", output: "It exited with code 3.", ...place },
  ],
  [
    "job.finished",
    { job_type: "server.cleanup", subject_name: "web-1" },
    { resource: null },
    "docker_cleanup_success",
    "docker_cleanup_success",
    { server_name: "web-1", server_uuid: "r1" },
  ],
  [
    "job.failed",
    { job_type: "server.cleanup", subject_name: "web-1", error: "No answer." },
    { resource: null },
    "docker_cleanup_failure",
    "docker_cleanup_failed",
    { server_name: "web-1", server_uuid: "r1" },
  ],
  ...(
    [
      ["server.reachable", "server_reachable", "server_reachable"],
      ["server.unreachable", "server_unreachable", "server_unreachable"],
      ["server.disk_usage_high", "server_disk_usage", "high_disk_usage"],
    ] as const
  ).map(
    ([type, setting, event]) =>
      [
        type,
        { server_name: "web-1", used_percent: 91 },
        { resource: null },
        setting,
        event,
        { server_name: "web-1", server_uuid: "r1" },
      ] as const,
  ),
];

test.each(TABLE)("%s %j %j is %s, %s", (type, payload, facts, setting, event, fields) => {
  expect(settingOf({ type, payload })).toBe(setting);
  const notification = built(type, payload, facts);
  expect(notification).toMatchObject({ setting, event });
  expect(notification?.fields).toEqual(fields);
  expect(notification?.isSuccess).toBe(!/failed|unreachable|high_disk|stopped|expiring|status_changed/.test(event));
  expect(notification?.url).toMatch(/^https:\/\/berth\.example\/(deployments|applications|databases|servers)\/[dr]1$/);
  for (const text of [notification?.title, notification?.text]) expect(text).not.toMatch(/undefined|null|^$/);
});

test("a status is explained where its reason is known", () => {
  const problem = "Its data is on node n2, which is down.";
  const change = { status: "degraded:unhealthy", previous_status: "running:healthy", desired_state: "running" };
  const notification = built("resource.status_changed", { resource_name: "shop", ...change, status_problem: problem });
  expect(notification?.text).toBe(`Its status was running, healthy. ${problem}`);
  expect(notification?.fields).toMatchObject({ status_problem: problem });
});

test("every type that is notified of is in the table, and none that is not emitted", () => {
  const notified = EVENT_TYPES.filter((type) =>
    [{}, { job_type: "server.cleanup" }, { status: "exited", previous_status: "running:healthy" }].some(
      (payload) => settingOf({ type, payload }) !== undefined,
    ),
  );
  expect(new Set(TABLE.map(([type]) => type))).toEqual(new Set(notified));
});

describe("nobody is notified", () => {
  test.each([
    ["deployment.queued", {}],
    ["deployment.cancelled", {}],
    ["job.finished", { job_type: "server.validate" }],
    ["notification.updated", {}],
    ["unknown", {}],
    ["__proto__", {}],
    ["constructor", {}],
    ["resource.status_changed", { status: "exited", previous_status: "running:healthy", desired_state: "stopped" }],
    ["resource.status_changed", { status: "starting", previous_status: "running:healthy", desired_state: "running" }],
    ["resource.status_changed", { status: "exited", previous_status: "degraded", desired_state: "running" }],
  ])("of %s %j", (type, payload) => {
    expect(settingOf({ type, payload })).toBeUndefined();
    expect(built(type, payload)).toBeUndefined();
  });
});

test("what is known by name alone is enough, since a subject may be deleted meanwhile", () => {
  for (const [type, payload] of TABLE) {
    const event = { type, resource_uuid: null, payload };
    const notification = notificationOf(event, NO_FACTS, null);
    expect(notification?.title).not.toMatch(/undefined|null/);
    expect(notification?.url).toBeNull();
  }
});

test("the output of a task is in its text, after why it failed", () => {
  const facts = { task: { message: "line 1\nline 2", error: "It exited with code 3." } };
  expect(built("scheduled_task.failed", { task_name: "nightly" }, facts)?.text).toBe(
    "It exited with code 3.\nline 1\nline 2",
  );
  expect(built("scheduled_task.finished", { task_name: "nightly" })?.text).toBe("It wrote nothing.");
});
