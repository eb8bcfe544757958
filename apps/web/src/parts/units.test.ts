import { expect, test } from "vitest";
import { labelOf } from "./units.ts";

test.each([
  ["git_commit_sha", "Git commit SHA"],
  ["is_static", "Static"],
  ["limits_memory", "Memory limit"],
  ["is_spa", "Single-page application"],
])("the field %s is labelled %s", (field, label) => {
  expect(labelOf(field)).toBe(label);
});
