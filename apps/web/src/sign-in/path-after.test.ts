import { expect, it } from "vitest";
import { pathAfterSignIn } from "./path-after.ts";

it.each([
  ["?to=%2Fservers", "/servers"],
  ["", "/"],
  ["?to=https%3A%2F%2Fevil.example", "/"],
  ["?to=%2F%2Fevil.example", "/"],
  ["?to=%2F%5Cevil.example", "/"],
  ["?to=%2F%09%2Fevil.example", "/"],
  ["?to=%2F%0A%5Cevil.example", "/"],
  ["?to=%0A%2F%2Fevil.example", "/"],
  ["?to=%2F.%2F%2Fevil.example", "/"],
  ["?to=%2Fx%2F..%2F%5Cevil.example", "/"],
  ["?to=javascript%3Aalert(1)", "/"],
  ["?to=%2Fsign-in", "/"],
  ["?to=%2Fx%2F..%2Fsign-in", "/"],
  ["?to=%2Fservers%2Fa%3Fview%3Dmap%23b", "/servers/a?view=map#b"],
])("leads from %s to %s and to no other site", (search, path) => {
  expect(pathAfterSignIn(search)).toBe(path);
});
