import type { ServerRecord, SystemStores } from "@berth/core/ports";
import { expect, test } from "vitest";
import { withSharedReadings } from "./shared-readings.ts";
import { wakeSignal } from "./wake-signal.ts";

function counted(keptSeconds: number) {
  let reads = 0;
  const failures: Error[] = [];
  const list = async () => {
    reads += 1;
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return [{ id: reads }] as ServerRecord[]; // Only the id is read here.
  };
  const beat = wakeSignal();
  const given = { servers: { list } } as unknown as SystemStores; // as above
  const stores = withSharedReadings(given, beat, { servers: keptSeconds, queues: 0, emptyQueues: keptSeconds });
  return { beat, failures, read: async () => (await stores.servers.list())[0]?.id };
}

test("loops that look within a moment read the servers once, and again after a server changed", async () => {
  const { beat, read } = counted(60);
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  expect(await read()).toBe(1);
  beat.notify("deployment");
  expect(await read()).toBe(1);
  beat.notify("server");
  expect([await read(), await read()]).toEqual([2, 2]);
});

test("what was read is not kept for ever, and a failure not at all", async () => {
  const brief = counted(0);
  expect([await brief.read(), await brief.read()]).toEqual([1, 2]);
  const { failures, read } = counted(60);
  failures.push(new Error("away"));
  await expect(read()).rejects.toThrow("away");
  expect(await read()).toBe(2);
});
