import { testUuid } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

test("a job is streamed until it has ended, also to a client that connects again", async () => {
  const server = await api.stores.servers.find(api.where.server_uuid);
  if (server === undefined) throw new Error("It was made with the world.");
  const uuid = testUuid();
  await api.stores.jobs.request([{ uuid, type: "server.validate", subject: { ...server, type: "server" } }]);
  const { jobs } = api.db.system;
  const claimed = await jobs.claim(["server.validate"], [server.id], { owner: "worker", leaseSeconds: 60 });
  if (claimed === undefined) throw new Error("It was queued above.");
  const following = api.ask("GET", `/jobs/${uuid}/follow`);
  await jobs.writeLog(claimed.lease, "one");
  await jobs.finish(claimed.lease, "failed", "No way.");
  const end = new RegExp(`data: .*"uuid":"${uuid}".*"status":"failed","[^\\n]*"log":"one"[^\\n]*\\n\\nevent: end`, "s");
  expect((await following).text).toMatch(end);
  const again = await api.ask("GET", `/jobs/${uuid}/follow?lastEventId=1`);
  expect(again.text.match(/^data: \{"uuid"/gm)).toHaveLength(1);
  expect(again.text).toMatch(end);
});
