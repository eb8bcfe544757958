import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PLACEMENT_SETTINGS, placementOf, placementProblems } from "./node-placement.ts";

const settings = (swarm_placement_constraints: string | null, is_swarm_only_worker_nodes = true) => ({
  ...{ swarm_placement_constraints, is_swarm_only_worker_nodes },
});
const problemsOf = (text: string | null) => placementProblems(settings(text)).swarm_placement_constraints ?? [];

describe("placement constraints", () => {
  test.each([
    ["node.labels.zone == a", "node.labels.zone==a"],
    ["node.role != manager", "node.role!=manager"],
    ["node.role==worker", "node.role==worker"],
    ["  node.hostname   ==  web-1.example  ", "node.hostname==web-1.example"],
    ["node.id == 2ivku8v2gvtg4", "node.id==2ivku8v2gvtg4"],
    ["node.ip != 10.0.0.0/8", "node.ip!=10.0.0.0/8"],
    ["node.platform.os == linux", "node.platform.os==linux"],
    ["node.platform.arch == aarch64", "node.platform.arch==aarch64"],
    ["engine.labels.com.example.disk == fast ssd", "engine.labels.com.example.disk==fast ssd"],
  ])("accept %s", (line, constraint) => {
    expect(problemsOf(line)).toEqual([]);
    expect(placementOf(settings(line)).constraints).toEqual([constraint]);
  });

  test.each([
    [
      "bogus == 1",
      /^"bogus == 1" has an unknown key\. Use one of node\.id, .*node\.labels\.NAME, engine\.labels\.NAME\.$/,
    ],
    ["node.labels == a", /unknown key/],
    ["node.labels. == a", /unknown key/],
    ["node.labels.a b == c", /unknown key/],
    ["Node.Role == worker", /unknown key/],
    ["== a", /unknown key/],
    ["node.role", /form KEY == VALUE or KEY != VALUE/],
    ["node.role = worker", /form KEY == VALUE/],
    ["node.role > worker", /form KEY == VALUE/],
    ["node.role == leader", /manager or worker/],
    ["node.id ==", /value that Docker Swarm does not accept/],
    ["node.id == $(a)`b`", /value that Docker Swarm does not accept/],
    ["node.hostname == ä", /value that Docker Swarm does not accept/],
    ["node.hostname === a", /value that Docker Swarm does not accept/],
    [`node.hostname == ${"a".repeat(239)}`, /at most 255 characters in a line/],
  ])("refuse %s", (line, problem) => {
    expect(problemsOf(`node.role == worker\n${line}`)).toEqual([expect.stringMatching(problem)]);
    expect(placementOf(settings(line)).constraints).toEqual([]);
  });

  test("are at most 20, without counting blank lines", () => {
    const lines = (count: number) =>
      Array.from({ length: count }, (_, at) => `node.labels.n == ${at}`).join("\n\n\r\n");
    expect(problemsOf(lines(20))).toEqual([]);
    expect(problemsOf(lines(21))).toEqual(["Limit reached: at most 20 constraints."]);
  });

  test("are none for an empty text", () => {
    for (const text of [null, "", " \n "]) {
      expect([problemsOf(text), placementOf(settings(text)).constraints]).toEqual([[], []]);
    }
    expect(placementProblems({})).toEqual({});
  });

  test("reach the engine exactly if they have no problem, whatever was sent", () => {
    const part = fc.constantFrom(
      "node.",
      "role",
      "labels.",
      "a",
      "==",
      "!=",
      "=",
      " ",
      "\n",
      "worker",
      "id",
      "\0",
      "é",
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
        const text = parts.join("");
        const count = text.split("\n").filter((line) => line.trim() !== "").length;
        const { constraints } = placementOf(settings(text));
        expect(count - constraints.length).toBe(problemsOf(text).length);
        // What the engine gets is read as the same again.
        expect(placementOf(settings(constraints.join("\n"))).constraints).toEqual(constraints);
      }),
    );
  });
});

test.each([
  ["node.labels.zone == a", true, true],
  ["node.labels.zone == a", false, false],
  ["node.role == manager", true, false],
  [null, true, true],
])("with %j and %j only worker nodes get it: %j", (text, wanted, isOnly) => {
  expect(placementOf(settings(text, wanted)).isOnlyOnWorkers).toBe(isOnly);
});

test("the longest text has room for all constraints", () => {
  const text = Array.from({ length: 20 }, () => `node.hostname == ${"a".repeat(238)}`).join("\n");
  expect(PLACEMENT_SETTINGS.swarm_placement_constraints.parse(text)).toBe(text);
  expect(problemsOf(text)).toEqual([]);
});
