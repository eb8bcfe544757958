import { expect, it, vi } from "vitest";
import { onDemand } from "./on-demand.ts";

it("creates each part once, at its first use, for each context", () => {
  const create = vi.fn((name: string) => ({ name }));
  const parts = onDemand<string, { one: { name: string }; two: { name: string } }>({ one: create, two: create });
  const [first, second] = [parts("first"), parts("second")];
  expect(create).not.toHaveBeenCalled();
  expect(first.one).toEqual({ name: "first" });
  expect(first.one).toBe(first.one);
  expect(second.one).toEqual({ name: "second" });
  expect(create).toHaveBeenCalledTimes(2);
});
