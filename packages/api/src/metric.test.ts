import type { Metric, ResourceUsage } from "@berth/core/schedule";
import { until } from "@berth/testing";
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
  const counts = {
    network_received_bytes: 1,
    network_sent_bytes: 2,
    disk_read_bytes: null,
    disk_written_bytes: 0,
    requests_per_second: null,
  };
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

test("samples are followed as they are taken, and from where the reader was", async () => {
  const uuid = await createdApplication(api);
  const { id = 0 } = (await api.stores.applications.find(uuid)) ?? {};
  const nowMs = Date.now();
  await insert(id, nowMs - 60_000, 1);
  await insert(id, nowMs - 30_000, 2);
  const path = `/applications/${uuid}/metrics/follow`;
  const since = await follow(`${path}?since=${new Date(nowMs - 90_000).toISOString()}`);
  const resumed = await follow(`${path}?lastEventId=${new Date(nowMs - 60_000).toISOString()}`);
  const fresh = await follow(path);
  try {
    await until(() => since.memory().length === 2 && resumed.memory().length === 1);
    await insert(id, Date.now() + 1000, 3);
    await until(() => fresh.memory().length === 1 && since.memory().length === 3 && resumed.memory().length === 2);
    expect(since.memory()).toEqual([1, 2, 3]);
    expect(resumed.memory()).toEqual([2, 3]);
    expect(fresh.memory()).toEqual([3]);
  } finally {
    for (const one of [since, resumed, fresh]) one.close();
  }
});

test("the usage of a server is what its resources use together, sent again while the interval grows", async () => {
  const ids = await Promise.all(
    ["a", "b"].map(async () => (await api.stores.applications.find(await createdApplication(api)))?.id ?? 0),
  );
  const { uuid } = api.place.server;
  const intervalMs = 2 * 60_000;
  // Later than the samples of other tests.
  const begin = Math.ceil(Date.now() / intervalMs) * intervalMs + intervalMs;
  const since = encodeURIComponent(new Date(begin).toISOString());
  const follower = await follow(`/servers/${uuid}/metrics/follow?since=${since}`);
  try {
    const [a = 0, b = 0] = ids;
    await insert(a, begin + 1000, 10);
    // A sample of another resource makes it send the same once more.
    await until(() => follower.memory().at(-1) === 10);
    await insert(a, begin + 61_000, 30);
    await insert(b, begin + 2000, 5);
    await until(() => follower.memory().at(-1) === 25);
    const listed = await api.ask("GET", `/servers/${uuid}/metrics?since=${since}`);
    expect(listed.json).toEqual([
      {
        at: expect.stringMatching(new RegExp(`^${new Date(begin).toISOString().slice(0, 19)}`)),
        cpu_percent: 25,
        memory_bytes: 25,
        processes: 2,
        resources: 2,
      },
    ]);
    const other = await api.ask("GET", `/servers/${uuid}/metrics`, { token: api.otherTeam.token });
    expect(other.status).toBe(404);
  } finally {
    follower.close();
  }
});

test("what all running resources use is listed by their newest samples, and followed", async () => {
  const [a, b, stopped] = [await createdApplication(api), await createdApplication(api), await createdApplication(api)];
  const ids = new Map<string, number>();
  for (const uuid of [a, b, stopped]) ids.set(uuid, (await api.stores.applications.find(uuid))?.id ?? 0);
  const used = async (uuid: string, secondsAgo: number, amount: number) =>
    await insert(ids.get(uuid) ?? 0, Date.now() - secondsAgo * 1000, amount);
  await used(stopped, 300, 1);
  await used(a, 61, 2);
  await used(a, 1, 3);
  await used(b, 1, 4);
  const own = (all: readonly ResourceUsage[]) =>
    all.filter(({ uuid }) => ids.has(uuid)).map(({ uuid, memory_bytes }) => [uuid, memory_bytes]);
  const listed = await api.ask("GET", "/resources/usage");
  expect(own(listed.json)).toEqual([
    [a, 3],
    [b, 4],
  ]);
  expect(listed.json.at(-1)).toEqual({ uuid: b, at: expect.any(String), cpu_percent: 4, memory_bytes: 4 });
  const second = await api.ask("GET", `/resources/usage?skip=${listed.json.length - 1}&take=1`);
  expect([own(second.json), second.headers["x-total-count"]]).toEqual([[[b, 4]], String(listed.json.length)]);
  expect((await api.ask("GET", "/resources/usage", { token: api.otherTeam.token })).json).toEqual([]);

  const [follower, stranger] = [
    await follow("/resources/usage/follow"),
    await follow("/resources/usage/follow", api.otherTeam.token),
  ];
  const events = () => follower.events<readonly ResourceUsage[]>().map(own);
  try {
    await until(() => events().length > 0 && stranger.events().length > 0);
    await used(b, 0, 5);
    await until(() =>
      events()
        .at(-1)
        ?.some(([, memory]) => memory === 5),
    );
    expect([events().at(0), events().at(-1)]).toEqual([
      [
        [a, 3],
        [b, 4],
      ],
      [
        [a, 3],
        [b, 5],
      ],
    ]);
    expect(stranger.events()).toEqual([[]]);
  } finally {
    follower.close();
    stranger.close();
  }
});

const insert = (resource_id: number, atMs: number, amount: number) =>
  api.db.system.metrics.insert([
    {
      ...{ resource_id, at: new Date(atMs), deployment_uuid: "d1", cpu_percent: amount, memory_bytes: amount },
      ...{ processes: 1, network_received_bytes: null, network_sent_bytes: null },
      ...{ disk_read_bytes: null, disk_written_bytes: null, requests_per_second: null },
    },
  ]);

/** An open stream over REST. */
async function follow(path: string, token = api.token) {
  const response = await api.app.inject({
    method: "GET",
    url: `/api/v1${path}`,
    headers: { authorization: `Bearer ${token}` },
    payloadAsStream: true,
  });
  let text = "";
  const stream = response.stream();
  stream.on("data", (chunk: Buffer) => {
    text += chunk.toString();
  });
  const events = <T>() => [...text.matchAll(/^data: ([{[].+)$/gm)].map(([, json = ""]) => JSON.parse(json) as T);
  const samples = () => events<Metric>().filter(({ at }) => at !== undefined);
  return { events, memory: () => samples().map(({ memory_bytes }) => memory_bytes), close: () => stream.destroy() };
}
