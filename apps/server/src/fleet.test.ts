import type { Engine, ServerRecord, Proxy as SiteProxy } from "@berth/core/ports";
import { describe, expect, test } from "vitest";
import { type Fleet, fleet, type Member } from "./fleet.ts";

const server = (id: number, { name = `web-${id}`, revision = 0 } = {}) => ({ id, name, revision }) as ServerRecord; // Nothing else is read here.

interface Made extends Member {
  readonly names: string[];
  isClosed: boolean;
}

function fleetOf(
  reach: (server: ServerRecord) => boolean = () => true,
  recorded: ReadonlySet<number> = new Set(),
): { fleet: Fleet; made: Made[] } {
  const made: Made[] = [];
  const make = (record: ServerRecord): Member | undefined => {
    if (!reach(record)) return undefined;
    const member: Made = {
      engine: {} as Engine, // Never called.
      proxy: {} as SiteProxy,
      names: [record.name],
      isClosed: false,
      update: ({ name }) => void member.names.push(name),
      retryNow() {},
      close: async () => {
        member.isClosed = true;
      },
    };
    made.push(member);
    return member;
  };
  return { fleet: fleet(make, async (id) => recorded.has(id)), made };
}

describe("a fleet", () => {
  test("has one member for a server, told of each new record", () => {
    const { fleet: own, made } = fleetOf();
    expect(own.member(server(1))).toBe(own.member(server(1, { name: "renamed", revision: 1 })));
    expect(made.map(({ names }) => names)).toEqual([["web-1", "renamed"]]);
  });

  test("does not go back to an older record", () => {
    const { fleet: own, made } = fleetOf();
    own.member(server(1));
    own.member(server(1, { name: "renamed", revision: 1 }));
    own.member(server(1));
    own.member(server(1, { name: "at once", revision: 2 }));
    expect(made.map(({ names }) => names)).toEqual([["web-1", "renamed", "at once"]]);
  });

  test("says what is out of reach", () => {
    const { fleet: own } = fleetOf(({ id }) => id === 1);
    expect([own.isWithinReach(server(1)), own.isWithinReach(server(2))]).toEqual([true, false]);
    expect(() => own.member(server(2))).toThrow(expect.objectContaining({ code: "engine.unreachable" }));
  });

  test("keeps what a list lacks that was read before it was recorded", async () => {
    const { fleet: own, made } = fleetOf(undefined, new Set([2]));
    for (const id of [1, 2]) own.member(server(id));
    await own.keepOnly([]);
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, false]);
  });

  test("lets go of servers that are gone, and of all at its end", async () => {
    const { fleet: own, made } = fleetOf();
    for (const id of [1, 2]) own.member(server(id));
    await own.keepOnly([server(2)]);
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    own.member(server(1));
    await own.close();
    expect(made.map(({ isClosed }) => isClosed)).toEqual([true, true, true]);
    expect(own.isWithinReach(server(1))).toBe(false);
  });
});
