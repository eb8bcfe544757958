import { expect, test } from "vitest";
import { lineKeeper } from "./fetch.ts";

test("keeps the first and the last of endless lines, and the start of each", () => {
  const keeper = lineKeeper();
  keeper.add("x".repeat(65_536));
  for (let number = 1; number < 10_000; number++) keeper.add(`line ${number}`);
  const lines = keeper.lines();
  expect(lines).toHaveLength(250);
  expect(lines[0]).toHaveLength(2000);
  expect(lines.slice(48, 51)).toEqual(["line 48", "line 49", "line 9800"]);
  expect(lines.at(-1)).toBe("line 9999");
});
