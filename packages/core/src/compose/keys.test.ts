import { expect, test } from "vitest";
import { composeKeysAt } from "./keys.ts";

const namesAt = (...path: readonly string[]) => composeKeysAt(path).map(({ name }) => name);

test("the keys of a file are known by their path", () => {
  expect(namesAt()).toEqual(expect.arrayContaining(["services", "networks", "volumes"]));
  expect(namesAt("services", "web")).toEqual(expect.arrayContaining(["image", "ports", "healthcheck"]));
  expect(namesAt("services", "web", "build")).toContain("dockerfile");
  expect(namesAt("volumes", "data")).toContain("driver");
});

test("no key is offered where names are chosen freely, below unknown keys, or where it would be refused", () => {
  const places = [["services"], ["services", "web", "environment"], ["volumes", "data", "build"], ["x-own", "web"]];
  for (const path of [...places, ["services", "web", "build", "args"]]) expect(namesAt(...path)).toEqual([]);
  expect(namesAt("services", "web")).not.toContain("provider");
});

test("a key that is not obeyed says what happens instead", () => {
  const logging = composeKeysAt(["services", "web"]).find(({ name }) => name === "logging");
  expect(logging?.note).toContain("Berth keeps the output itself");
});
