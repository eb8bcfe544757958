import { testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("gives a job to exactly one of many who ask at once", async () => {
    const { leases } = database().system;
    const name = `server:${testUuid()}`;
    const owners = Array.from({ length: 12 }, (_, index) => `replica-${index}`);
    const answers = await Promise.all(owners.map((owner) => leases.acquire(name, owner, 60)));
    expect(answers.filter(Boolean)).toHaveLength(1);
    const holder = owners[answers.indexOf(true)] ?? "";
    expect(await leases.acquire(name, holder, 60)).toBe(true);
  });

  it("frees a job when it is released by its holder, and by nobody else", async () => {
    const { leases } = database().system;
    const name = `server:${testUuid()}`;
    await leases.acquire(name, "a", 60);
    await leases.release(name, "b");
    expect(await leases.acquire(name, "b", 60)).toBe(false);
    await leases.release(name, "a");
    expect(await leases.acquire(name, "b", 60)).toBe(true);
  });

  it("gives a job to another once its time ran out", async () => {
    const { leases } = database().system;
    const name = `server:${testUuid()}`;
    await leases.acquire(name, "a", 0.2);
    expect(await leases.acquire(name, "b", 60)).toBe(false);
    await expect.poll(() => leases.acquire(name, "b", 60), { interval: 20 }).toBe(true);
    expect(await leases.acquire(name, "a", 60)).toBe(false);
  });

  it("gives many jobs at once, without those that another has", async () => {
    const { leases } = database().system;
    const names = Array.from({ length: 5 }, () => `server:${testUuid()}`);
    const [taken = "", ...free] = names;
    await leases.acquire(taken, "b", 60);
    expect(await leases.acquireAll([...names, ...names], "a", 60)).toEqual(new Set(free));
    expect(await leases.acquireAll(names, "a", 60)).toEqual(new Set(free));
    expect(await leases.acquireAll([], "a", 60)).toEqual(new Set());
  });

  it("gives the same many jobs to those who ask at once without any waiting for each other", async () => {
    const { leases } = database().system;
    const names = Array.from({ length: 50 }, () => `server:${testUuid()}`);
    const owners = Array.from({ length: 8 }, (_, index) => `replica-${index}`);
    const shuffled = (index: number) => [...names.slice(index), ...names.slice(0, index)];
    const held = await Promise.all(owners.map((owner, index) => leases.acquireAll(shuffled(index), owner, 60)));
    expect(held.flatMap((each) => [...each]).sort()).toEqual([...names].sort());
  });
});
