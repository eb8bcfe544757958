import { afterAll, beforeAll, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(() => api.close());

test("what an application used is listed from a moment on, oldest first", async () => {
  const uuid = await createdApplication(api);
  const { id = 0 } = (await api.stores.applications.find(uuid)) ?? {};
  const nowMs = Date.now();
  const at = (secondsAgo: number) => new Date(nowMs - secondsAgo * 1000);
  const sample = { deployment_uuid: "d1", cpu_percent: 12.5, memory_bytes: 2 ** 33, processes: 3 };
  const counts = { network_received_bytes: 1, network_sent_bytes: 2, disk_read_bytes: null, disk_written_bytes: 0 };
  const rows = [60, 120, 30].map((secondsAgo) => ({ ...sample, ...counts, at: at(secondsAgo), resource_id: id }));
  await api.db.system.metrics.insert([...rows, { ...sample, ...counts, at: at(1), resource_id: 9_999_999 }]);
  await api.db.system.metrics.insert(rows);

  const all = await api.ask("GET", `/applications/${uuid}/metrics`);
  expect(all.json.map((metric: { at: string }) => Date.parse(metric.at))).toEqual(
    [120, 60, 30].map((secondsAgo) => at(secondsAgo).getTime()),
  );
  expect(all.json[0]).toMatchObject({ ...sample, ...counts });
  const since = encodeURIComponent(at(60).toISOString());
  expect((await api.ask("GET", `/applications/${uuid}/metrics?since=${since}`)).json).toHaveLength(2);
  expect((await api.ask("GET", `/applications/${uuid}/metrics?since=yesterday`)).status).toBe(422);

  await api.db.system.metrics.prune(at(45));
  expect((await api.ask("GET", `/applications/${uuid}/metrics`)).json).toHaveLength(1);
});
