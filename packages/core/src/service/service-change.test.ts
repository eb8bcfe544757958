import { expect, test } from "vitest";
import { type Compose, parseCompose } from "../compose/parse.ts";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { type ServicePlan, serviceChanges } from "./service-change.ts";

function composeOf(text: string): Compose {
  const compose = parseCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join(" "));
  return compose;
}

function planOf(before: Compose, after: Compose): ServicePlan {
  const insert = after.variables.map(({ key }) => ({ key, value: "x" }));
  const none = { insert: [], update: [], delete: [] };
  return {
    before,
    after,
    hasNewSettings: false,
    isOnCluster: false,
    urls: { claims: new Map() },
    currentUrls: new Map(),
    variables: { insert, update: [], delete: [] } as unknown as ServicePlan["variables"],
    storages: none,
    existing: { variables: [], storages: [] },
  };
}

test("a change says which containers a variable reaches, and does not take long for the longest texts", () => {
  const keys = Array.from({ length: 1000 }, (_, n) => `KEY_${n}`);
  const long = "word ".repeat(190_000);
  const text = (environment: string) => `services:
  a: {image: a, environment: {${environment}}}
  b: {image: b, labels: {x: "${long}"}}
`;
  const after = composeOf(text(keys.map((key) => `${key}: "\${${key}}"`).join(", ")));
  const changes = () => serviceChanges(planOf(composeOf(text("")), after));
  // Reading the compose file anew for each variable costs more than 400.
  expect(cpuCost(changes)).toBeLessThan(120);
  const { replacement, variables } = changes();
  expect(variables).toHaveLength(1000);
  expect(replacement.containers.map(({ name, action }) => [name, action === "kept"])).toEqual([
    ["a", false],
    ["b", true],
  ]);
});
