import { describe, expect, test } from "vitest";
import { type Event, type Existing, subjectsOf } from "./event-subject.ts";

const EXISTING: Existing = {
  resources: [
    { uuid: "shop", name: "shop", type: "application", project_uuid: "p", environment_uuid: "e" },
    { uuid: "shopdb", name: "shopdb", type: "standalone-postgresql", project_uuid: "p", environment_uuid: "e" },
    { uuid: "mail", name: "mail", type: "service", project_uuid: "p", environment_uuid: "e" },
  ],
  servers: [{ uuid: "nuc", name: "nuc-2" }],
  projects: [{ uuid: "p", name: "Shop" }],
};

const event = (id: number, type: string, resource_uuid: string | null, payload: Event["payload"] = {}): Event => ({
  ...{ id, type, resource_uuid, payload },
  ...{ actor: null, created_at: "2026-01-01T00:00:00.000000Z" },
});
/** @param events The newest first. */
const subjects = (...events: readonly Event[]) => [...subjectsOf(events, EXISTING).values()];
const subject = (type: string, uuid: string | null, payload: Event["payload"] = {}) =>
  subjects(event(1, type, uuid, payload))[0];

describe("an event leads to", () => {
  test.each([
    ["deployment.finished", "shop", { deployment_uuid: "d1" }, { page: "deployment", uuid: "d1" }],
    ["resource.status_changed", "shop", {}, { page: "application", uuid: "shop" }],
    ["resource.variables_changed", "mail", {}, { page: "service", uuid: "mail", tab: "variables" }],
    ["resource.tags_changed", "mail", {}, { page: "service", uuid: "mail" }],
    ["backup.failed", "shopdb", {}, { page: "database", uuid: "shopdb", tab: "backups" }],
    ["drill.finished", "shopdb", {}, { page: "database", uuid: "shopdb", tab: "backups" }],
    ["scheduled_task.failed", "mail", {}, { page: "service", uuid: "mail", tab: "tasks" }],
    ["preview.created", "shop", {}, { page: "application", uuid: "shop", tab: "previews" }],
    ["terminal.opened", "nuc", {}, { page: "server", uuid: "nuc" }],
    ["server.node_changed", "nuc", {}, { page: "server", uuid: "nuc", tab: "nodes" }],
    ["job.failed", "nuc", {}, { page: "server", uuid: "nuc", tab: "jobs" }],
    ["project.updated", "p", {}, { page: "project", uuid: "p" }],
    ["environment.created", "e", {}, { page: "project", uuid: "p" }],
    ["shared_variables.changed", "p", { scope: "project" }, { page: "project", uuid: "p" }],
    ["shared_variables.changed", "t", { scope: "team" }, { page: "team", tab: "variables" }],
    ["private_key.created", "k", {}, { page: "team", tab: "keys" }],
    ["registry.updated", "r", {}, { page: "team", tab: "registries" }],
    ["member.added", null, { user_id: 3 }, { page: "team", tab: "members" }],
    ["token.created", null, { id: 3 }, { page: "team", tab: "tokens" }],
  ])("%s of %s %j", (type, uuid, payload, page) => {
    expect(subject(type, uuid, payload)?.page).toEqual(page);
  });
});

test("what does not exist any more, or has no page, has no link", () => {
  expect(subject("deployment.finished", "old", { deployment_uuid: "d1" })?.page).toBeUndefined();
  expect(subject("resource.deleted", "old")?.page).toBeUndefined();
  expect(subject("server.validated", "old")?.page).toBeUndefined();
  expect(subject("scheduler.stalled", null)?.page).toBeUndefined();
});

test("what a team had is not there any more after its deletion, until it was added again", () => {
  const [deletion, creation] = subjects(event(2, "private_key.deleted", "k"), event(1, "private_key.created", "k"));
  expect([deletion?.page, creation?.page]).toEqual([undefined, undefined]);
  const ada = { user_id: 3, name: "Ada" };
  const pages = subjects(
    event(4, "member.added", null, ada),
    event(3, "member.removed", null, ada),
    event(2, "token.revoked", null, { id: 3, name: "ci" }),
    event(1, "token.created", null, { id: 3, name: "ci" }),
  ).map(({ page }) => page);
  const members = { page: "team", tab: "members" };
  expect(pages).toEqual([members, members, undefined, undefined]);
});

test("an event is named by its payload, else by what it is about, else by an identifier", () => {
  const named = { resource_name: "old name", server_name: "nuc-2", deployment_uuid: "d1" };
  expect(subject("deployment.queued", "shop", named)?.name).toBe("old name");
  expect(subject("server.updated", "nuc")?.name).toBe("nuc-2");
  expect(subject("server.validated", "gone", { server_name: "vps" })?.name).toBe("vps");
  expect(subject("registry.created", "r", { address: "registry.example.com" })?.name).toBe("registry.example.com");
  expect(subject("server.updated", "gone")?.name).toBe("gone");
  expect(subject("scheduler.stalled", null)?.name).toBe("");
  // A link must have a name.
  expect(subject("user.updated", null, { user_id: 3 })?.name).toBe("Members");
});
