import { expect, test } from "vitest";
import { nodeState } from "./node-state.ts";

const READY = { state: "ready", availability: "active", is_reachable: null, containers_leaving: 0 } as const;

test.each([
  [{}, "good", "Ready"],
  [{ is_reachable: true }, "good", "Ready"],
  [{ is_reachable: false }, "bad", "Cut off"],
  [{ availability: "pause" }, "warn", "Paused"],
  [{ availability: "drain", containers_leaving: 2 }, "busy", "Draining"],
  [{ availability: "drain" }, "off", "Drained"],
  [{ state: "down" }, "bad", "Down"],
  [{ state: "down", availability: "drain", is_reachable: false }, "bad", "Down"],
  [{ state: "disconnected" }, "bad", "Disconnected"],
  [{ state: "unknown" }, "bad", "Unknown"],
] as const)("a node with %j is %s: %s", (fields, tone, word) => {
  expect(nodeState({ ...READY, ...fields })).toMatchObject({ tone, word });
});
