import { describe, expect, test } from "vitest";
import { managingNode } from "./managing-node.ts";

describe("the node that calls of a cluster go through", () => {
  const cases: readonly (readonly [string, string, string | null, string | undefined])[] = [
    ["is the head while it can manage, whatever its id", "a+ h+ b+", "h", "h"],
    ["is the other manager with the lowest id while the head cannot", "c+ h- b+", "h", "b"],
    ["leaves out those that cannot manage either", "a- h- b+", "h", "b"],
    ["is the head again once it can", "a+ h+", "h", "h"],
    ["is none when nobody can", "a- h- b-", "h", undefined],
    ["is none of a cluster without nodes", "", "h", undefined],
    ["is another while the head's node is unknown", "b+ a+", null, "a"],
  ];
  test.each(cases)("%s", (_title, seen, headId, expected) => {
    const nodes = seen
      .split(" ")
      .filter(Boolean)
      .map((one) => ({ id: one.slice(0, -1), canManage: one.endsWith("+") }));
    expect(managingNode(nodes, headId)?.id).toBe(expected);
    expect(managingNode(nodes.toReversed(), headId)?.id).toBe(expected);
  });
});
