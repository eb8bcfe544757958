import { expect, test } from "vitest";
import { shortCommit } from "./short-commit.ts";

test.each([
  ["e3f1a9c8d7b6a5948372615049382716abcdef01", "e3f1a9c8"],
  ["523f0999bd894abc5bea79eb2f6177889b5a5c62f8c7713b6eda0d68fa41c15c", "523f0999"],
  ["v1.2.3-beta.4", "v1.2.3-beta.4"],
  ["HEAD", undefined],
])("the commit %s is shown as %s", (commit, shown) => {
  expect(shortCommit({ commit })).toBe(shown);
});
