import type { Event } from "@berth/core/team";
import { until } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { person } from "./browser.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

const project = async (name: string) => (await api.ask("POST", "/projects", { body: { name } })).json.uuid as string;

describe("events", () => {
  test("are listed newest first, and behind a cursor oldest first, without gap", async () => {
    const uuids = [await project("One"), await project("Two"), await project("Three")];
    const path = "/events?type=project.created&take=2";
    const first = (await api.ask("GET", path)).json;
    expect(first.events.map(uuidOf)).toEqual([uuids[2], uuids[1]]);
    const second = (await api.ask("GET", `${path}&before=${first.next}`)).json;
    expect(second.events.map(uuidOf)).toEqual([uuids[0]]);
    expect(second.next).toBeNull();
    const oldest = second.events[0].id;
    const behind = (await api.ask("GET", `${path}&after=${oldest - 1}`)).json;
    expect(behind.events.map(uuidOf)).toEqual([uuids[0], uuids[1]]);
    expect((await api.ask("GET", `${path}&after=${behind.next}`)).json.events.map(uuidOf)).toEqual([uuids[2]]);
  });

  test("are found by a prefix of their type and by what they are about", async () => {
    const uuid = await project("Shop");
    await api.ask("PATCH", `/projects/${uuid}`, { body: { name: "Store" } });
    const { json } = await api.ask("GET", `/events?resource=${uuid}&type=project.`);
    expect(json.events.map(({ type }: Event) => type)).toEqual(["project.updated", "project.created"]);
    expect((await api.ask("GET", `/events?resource=${uuid}&type=server.`)).json.events).toEqual([]);
    expect((await api.ask("GET", "/events?type=%25.")).status).toBe(422);
    expect((await api.ask("GET", `/events?resource=${uuid}`, { token: api.otherTeam.token })).json.events).toEqual([]);
  });

  test("say who did it", async () => {
    const { id, browser } = await person(api);
    const made = await browser.ask("POST", "/projects", { name: "By Ada" });
    const other = await project("By a token");
    const actorOf = async (uuid: string) => (await api.ask("GET", `/events?resource=${uuid}`)).json.events[0].actor;
    expect(await actorOf(made.json.uuid)).toEqual({ type: "session", name: "Ada", user_id: id });
    expect(await actorOf(other)).toEqual({ type: "token", name: "test", user_id: 0 });
  });

  test("are followed as they come, and from where the reader was", async () => {
    const missed = await project("Missed");
    const { events } = (await api.ask("GET", `/events?resource=${missed}`)).json;
    const follower = await follow(`type=project.&lastEventId=${events[0].id - 1}`);
    try {
      await until(() => follower.uuids().length === 1);
      const live = await project("Live");
      await until(() => follower.uuids().length === 2);
      expect(follower.uuids()).toEqual([missed, live]);
    } finally {
      follower.close();
    }
  });

  test("are followed by nobody whose session has ended", async () => {
    const { browser } = await person(api);
    const follower = await follow("", browser.headers);
    await browser.ask("POST", "/auth/sign-out", {});
    await until(() => follower.hasEnded());
    follower.close();
  });

  test("that are old are deleted, in parts", async () => {
    const { database, system } = api.db;
    const uuid = await project("Old");
    await database.kysely
      .updateTable("event")
      .set({ created_at: new Date(Date.now() - 10 * 86_400_000) })
      .where("resource_uuid", "=", uuid)
      .execute();
    const fresh = await project("Fresh");
    expect(await system.events.prune(9)).toBe(1);
    expect(await system.events.prune(9)).toBe(0);
    expect((await api.ask("GET", `/events?resource=${uuid}`)).json.events).toEqual([]);
    expect((await api.ask("GET", `/events?resource=${fresh}`)).json.events).toHaveLength(1);
  });
});

const uuidOf = ({ resource_uuid }: Event) => resource_uuid;

/** An open stream over REST. */
async function follow(query: string, headers: object = { authorization: `Bearer ${api.token}` }) {
  const response = await api.app.inject({
    method: "GET",
    url: `/api/v1/events/follow?${query}`,
    headers: { ...headers },
    payloadAsStream: true,
  });
  let text = "";
  let isClosed = false;
  const stream = response.stream();
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  stream.on("close", () => {
    isClosed = true;
  });
  return {
    uuids: () => [...text.matchAll(/^data: (\{"id".*)$/gm)].map(([, json = ""]) => uuidOf(JSON.parse(json))),
    hasEnded: () => isClosed || text.includes("event: end"),
    close: () => stream.destroy(),
  };
}
