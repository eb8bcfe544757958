import { describe, expect, test } from "vitest";
import { startGroups, stopOrder } from "./order.ts";

test("stops what needs others before them, also where labels go round in circles", () => {
  const named = (name: string, ...dependsOn: string[]) => ({ name, dependsOn });
  const namesOf = (groups: readonly (readonly { readonly name: string }[])[]) =>
    groups.map((group) => group.map(({ name }) => name));
  const chain = [named("db"), named("api", "db", "cache"), named("cache"), named("web", "api")];
  expect(namesOf(stopOrder(chain))).toEqual([["web"], ["api"], ["db", "cache"]]);
  expect(namesOf(stopOrder([named("a", "b"), named("b", "a")]))).toEqual([["a", "b"]]);
});

describe("the order of a start", () => {
  const namesOf = (...args: Parameters<typeof startGroups>) => startGroups(...args).map(({ names }) => names);
  const healthy = { condition: "service_healthy" };
  const completed = { condition: "service_completed_successfully" };

  test("is the compose tool's where nothing waits for a healthy container", () => {
    const services = { web: { depends_on: { job: completed, db: {} } }, job: { depends_on: ["db"] }, db: {} };
    expect(startGroups(services, new Set())).toEqual([{ names: ["web", "job", "db"], needs: [] }]);
  });

  test("puts what waits for a healthy container behind it, and what waits for that behind that", () => {
    const services = {
      proxy: { depends_on: { web: { condition: "service_healthy", required: false } } },
      web: { depends_on: { db: healthy, seed: completed, migration: completed } },
      migration: { depends_on: { db: healthy } },
      seed: {},
      db: {},
    };
    expect(startGroups(services, new Set())).toEqual([
      { names: ["seed", "db"], needs: [] },
      {
        names: ["web", "migration"],
        needs: [
          { name: "db", condition: "service_healthy", isRequired: true },
          { name: "seed", condition: "service_completed_successfully", isRequired: true },
        ],
      },
      { names: ["proxy"], needs: [{ name: "web", condition: "service_healthy", isRequired: false }] },
    ]);
  });

  test("keeps a container behind one whose network it is in", () => {
    const services = { tail: { network_mode: "service:web" }, web: { depends_on: { db: healthy } }, db: {} };
    expect(namesOf(services, new Set())).toEqual([["db"], ["tail", "web"]]);
  });

  test("waits for a container that continues, and starts none that a profile leaves out", () => {
    const services = {
      web: { depends_on: { db: healthy, tool: { condition: "service_healthy", required: false } } },
      tool: { profiles: ["debug"] },
      db: {},
    };
    expect(startGroups(services, new Set(["db"]))).toEqual([
      { names: ["web"], needs: [{ name: "db", condition: "service_healthy", isRequired: true }] },
    ]);
    expect(startGroups(services, new Set(["db", "web"]))).toEqual([]);
  });

  test("ends for circles, which the compose tool refuses", () => {
    const services = { a: { depends_on: { b: healthy } }, b: { depends_on: { a: healthy } } };
    expect(namesOf(services, new Set()).flat().sort()).toEqual(["a", "b"]);
  });
});
