import { expect, test } from "vitest";
import { interpolateCompose, interpolated } from "./reference.ts";

const A = "x".repeat(130_000);

test("stays within memory, however often a long value is named", () => {
  const refused = /exceeds \d+ characters after its variables are filled in/;
  expect(() => interpolateCompose("$A".repeat(400_000), () => A)).toThrow(refused);
  expect(() => interpolateCompose(`\${B:-${"$A".repeat(400_000)}}`, (key) => (key === "A" ? A : undefined))).toThrow(
    refused,
  );
  expect(() => interpolated({ list: Array.from({ length: 20_000 }, () => "$A") }, { A })).toThrow(refused);
  expect(interpolated(["$A", { a: "-$A" }], { A })).toEqual([A, { a: `-${A}` }]);
});
