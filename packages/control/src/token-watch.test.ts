import type { Stores } from "@berth/core/ports";
import type { Scope } from "@berth/core/team";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { whileTokenWorks } from "./token-watch.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Tokens by id, and the times at which one of them was looked up. */
function tokens(...ids: number[]) {
  const valid = new Set(ids);
  const lookups: { readonly id: number; readonly atMs: number }[] = [];
  const store: Partial<Stores["tokens"]> = {
    isValid: async (id) => {
      lookups.push({ id, atMs: Date.now() });
      return valid.has(id);
    },
  };
  // The stream calls nothing else of the stores.
  return { valid, lookups, stores: { tokens: store } as Stores };
}

function follow(stores: Stores, id: number) {
  const stop = new AbortController();
  const scope: Scope = {
    teamId: 1,
    abilities: ["read"],
    actor: { type: "token", id, name: "Follower", userId: id, role: "owner", expiresAt: null },
  };
  const state = { hasEnded: false, stop: () => stop.abort() };
  const stream = whileTokenWorks({ scope, stores }, stop.signal, async function* (ended) {
    yield "begun";
    await new Promise((resolve) => ended.addEventListener("abort", resolve));
  });
  void (async () => {
    for await (const _ of stream);
    state.hasEnded = true;
  })();
  return state;
}

const CHECK_MS = 5000;

test("all open streams look up their tokens at the same moment, whenever they began", async () => {
  const { lookups, stores } = tokens(1, 2, 3);
  const streams = [follow(stores, 1)];
  await vi.advanceTimersByTimeAsync(1300);
  streams.push(follow(stores, 2));
  await vi.advanceTimersByTimeAsync(2900);
  streams.push(follow(stores, 3));
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(lookups.map(({ id }) => id)).toEqual([1, 2, 3]);
  expect(new Set(lookups.map(({ atMs }) => atMs)).size).toBe(1);
  for (const { stop } of streams) stop();
  await vi.advanceTimersByTimeAsync(0);
  expect(vi.getTimerCount()).toBe(0);
});

test("a stream ends with its own token only, and the others are still checked", async () => {
  const { lookups, stores, valid } = tokens(1, 2);
  const [revoked, kept] = [follow(stores, 1), follow(stores, 2)];
  valid.delete(1);
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect([revoked.hasEnded, kept.hasEnded]).toEqual([true, false]);
  lookups.length = 0;
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(lookups.map(({ id }) => id)).toEqual([2]);
  valid.delete(2);
  await vi.advanceTimersByTimeAsync(CHECK_MS);
  expect(kept.hasEnded).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
