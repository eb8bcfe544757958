import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { databaseDefaults } from "../database/database.ts";
import type { Forward, PresentForward } from "../ports/forward.ts";
import { type ForwardOperation, forwardOf, planForwards } from "./forward.ts";

describe("a database", () => {
  const database = (change: object = {}) => ({
    ...({ uuid: "d1", engine: "redis", is_public: true, public_port: 16_379, desired_state: "running" } as const),
    ...{
      settings: databaseDefaults("redis"),
      fields: {},
      removing_at: null,
      loopback_port: null,
      placement: { destination_network: "backend" },
    },
    ...change,
  });

  test("that is not public has its loopback port, which a public one replaces", () => {
    const own = { is_public: false, loopback_port: 20_001 };
    expect(forwardOf(database(own))).toMatchObject({ publicPort: 20_001, isLoopback: true });
    expect(forwardOf(database({ ...own, is_public: true }))).toMatchObject({ publicPort: 16_379 });
    expect(forwardOf(database({ ...own, is_public: true }))).not.toHaveProperty("isLoopback");
    expect(forwardOf(database({ ...own, desired_state: "stopped" }))).toBeUndefined();
  });

  test("that is public and shall run is forwarded to by the name in its URL", () => {
    const forward = {
      resourceUuid: "d1",
      publicPort: 16_379,
      network: "backend",
      host: "d1",
      port: 6379,
      idleSeconds: 3600,
    };
    expect(forwardOf(database())).toEqual(forward);
    const settings = { ...databaseDefaults("redis"), public_port_timeout: 60 };
    expect(forwardOf(database({ settings }))).toEqual({ ...forward, idleSeconds: 60 });
    const without = { ...settings, public_port_timeout: null };
    expect(forwardOf(database({ settings: without }))).toEqual(forward);
    expect(forwardOf(database({ fields: { enable_ssl: "true" } }))).toEqual({ ...forward, port: 6380 });
  });

  test.each([
    [{ is_public: false }],
    [{ public_port: null }],
    [{ desired_state: "stopped" }],
    [{ removing_at: new Date(0) }],
  ])("with %j is not forwarded to", (change) => {
    expect(forwardOf(database(change))).toBeUndefined();
  });
});

describe("the plan for forwards", () => {
  const forwards = fc
    .uniqueArray(
      fc.record({
        resourceUuid: fc.constantFrom("a", "b", "c", "d"),
        publicPort: fc.integer({ min: 1024, max: 1028 }),
        network: fc.constantFrom("n", "m"),
        host: fc.constantFrom("x", "y"),
        port: fc.constantFrom(5432, 6379),
        idleSeconds: fc.constantFrom(1, 2),
      }),
      { selector: ({ resourceUuid }) => resourceUuid },
    )
    // As the database guarantees: each port of a server belongs to one resource.
    .filter((all) => new Set(all.map(({ publicPort }) => publicPort)).size === all.length);
  const present = fc.uniqueArray(
    fc
      .oneof(
        forwards.map(([forward]) => forward).filter((forward) => forward !== undefined),
        fc.constant(undefined),
      )
      .chain((forward) =>
        fc.record({
          resourceUuid: forward === undefined ? fc.constantFrom("a", "b", "c", "d") : fc.constant(forward.resourceUuid),
          forward: fc.constant(forward),
          isRunning: fc.boolean(),
        }),
      ),
    { selector: ({ resourceUuid }) => resourceUuid },
  );

  /** Applies the operations; a taken port is refused. */
  function apply(before: readonly PresentForward[], operations: readonly ForwardOperation[]) {
    const there = new Map(before.map((one) => [one.resourceUuid, one]));
    for (const operation of operations) {
      if (operation.type === "close") {
        there.delete(operation.resourceUuid);
        continue;
      }
      const { resourceUuid, publicPort } = operation.forward;
      if (there.has(resourceUuid)) throw new Error("It has one.");
      const isTaken = [...there.values()].some(
        ({ forward, isRunning }) => isRunning && forward?.publicPort === publicPort,
      );
      if (isTaken) throw new Error("The port is taken.");
      there.set(resourceUuid, { resourceUuid, forward: operation.forward, isRunning: true });
    }
    return there;
  }

  test("makes what is wanted of anything that is there, and then plans nothing", () => {
    fc.assert(
      fc.property(forwards, present, (wanted, before) => {
        const after = apply(before, planForwards(wanted, before));
        expect(new Map([...after].map(([uuid, { forward }]) => [uuid, forward]))).toEqual(
          new Map(wanted.map((forward): [string, Forward] => [forward.resourceUuid, forward])),
        );
        expect(planForwards(wanted, [...after.values()])).toEqual([]);
      }),
    );
  });

  test("touches nothing that is right already", () => {
    fc.assert(
      fc.property(forwards, (wanted) => {
        const right = wanted.map((forward) => ({ resourceUuid: forward.resourceUuid, forward, isRunning: true }));
        expect(planForwards(wanted, right)).toEqual([]);
      }),
    );
  });
});
