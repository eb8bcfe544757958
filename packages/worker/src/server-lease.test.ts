import type { LeaseStore } from "@berth/core/ports";
import { expect, test, vi } from "vitest";
import { createServerLeases } from "./server-lease.ts";

function world(taken: readonly string[] = [], serverLeaseSeconds = 8) {
  const asked: (readonly string[])[] = [];
  const acquireAll: LeaseStore["acquireAll"] = async (names) => {
    asked.push(names);
    return new Set(names.filter((name) => !taken.includes(name)));
  };
  const leases: LeaseStore = { acquireAll, acquire: async () => true, release: async () => {} };
  return { asked, serverLeases: createServerLeases(leases, "a", { serverLeaseSeconds }) };
}

/** Simulates the passing of time for leases. */
function clock() {
  const now = vi.spyOn(performance, "now");
  let ms = 0;
  now.mockImplementation(() => ms);
  return { pass: (seconds: number) => (ms += seconds * 1000), [Symbol.dispose]: () => now.mockRestore() };
}

test("renews with one that is due all others that are looked after", async () => {
  using time = clock();
  const { asked, serverLeases } = world();
  await serverLeases.acquire(1);
  time.pass(2);
  await serverLeases.acquire(2);
  time.pass(3);
  expect(await Promise.all([serverLeases.acquire(1), serverLeases.acquire(2)])).toEqual([true, true]);
  time.pass(3);
  expect(await Promise.all([serverLeases.acquire(1), serverLeases.acquire(2)])).toEqual([true, true]);
  expect(asked).toEqual([["server:1"], ["server:2", "server:1"], ["server:1", "server:2"]]);
});

test("lets go of one that nobody has asked for during a lease, or that was released", async () => {
  using time = clock();
  const { asked, serverLeases } = world();
  await Promise.all([serverLeases.acquire(1), serverLeases.acquire(2), serverLeases.acquire(3)]);
  await serverLeases.release(2);
  for (let looks = 0; looks < 3; looks += 1) {
    time.pass(4.5);
    await serverLeases.acquire(3);
  }
  expect(asked.at(-1)).toEqual(["server:3"]);
  expect(asked.flat().filter((name) => name === "server:2")).toHaveLength(1);
});

test("does not look after what another control plane has", async () => {
  using time = clock();
  const { serverLeases } = world(["server:2"]);
  expect(await Promise.all([serverLeases.acquire(1), serverLeases.acquire(2)])).toEqual([true, false]);
  time.pass(5);
  expect(await Promise.all([serverLeases.acquire(1), serverLeases.acquire(2)])).toEqual([true, false]);
});

test("renews the lease of a server for as long as a visit takes, and no longer", async () => {
  const { asked, serverLeases } = world([], 0.2);
  await serverLeases.acquire(1);
  await serverLeases.during(1, async () => {
    await expect.poll(() => asked.length, { interval: 10 }).toBeGreaterThan(5);
    expect(asked.every((names) => names.includes("server:1"))).toBe(true);
  });
  // Another server keeps the renewals going, in which the first has no part once a lease has passed.
  await serverLeases.acquire(2);
  await serverLeases.during(2, async () => {
    await expect.poll(() => asked.at(-1), { interval: 10 }).toEqual(["server:2"]);
  });
});
