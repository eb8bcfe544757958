import { expect, it } from "vitest";
import { pathAfterSignIn } from "./path-after.ts";

it.each([
  ["?to=%2Fservers", "/servers"],
  ["", "/"],
  ["?to=https%3A%2F%2Fevil.example", "/"],
  ["?to=%2F%2Fevil.example", "/"],
  ["?to=%2F%5Cevil.example", "/"],
  ["?to=%2Fsign-in", "/"],
])("leads from %s to %s and to no other site", (search, path) => {
  expect(pathAfterSignIn(search)).toBe(path);
});
