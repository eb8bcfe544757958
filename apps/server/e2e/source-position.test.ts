import { readdirSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { freshBuild } from "../../../tooling/build/fresh.mjs";
import { sourcePosition } from "../../../tooling/build/source-position.mjs";

test("positions in stack traces are those that Node reads from the same maps", () => {
  const folder = freshBuild("server");
  const maps = readdirSync(folder)
    .filter((name) => name.endsWith(".map"))
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as SourceMap["payload"])
    .toSorted((a, b) => b.mappings.length - a.mappings.length)
    .slice(0, 3)
    .map((payload) => ({ payload, known: new SourceMap(payload) }));
  const position = fc.record({
    // Not the map itself, which a failure would print.
    at: fc.nat(maps.length - 1),
    line: fc.integer({ min: 0, max: 200 }),
    column: fc.integer({ min: 0, max: 60_000 }),
  });
  fc.assert(
    fc.property(position, ({ at, line, column }) => {
      const { payload, known } = maps[at] as (typeof maps)[number]; // `at` is one of them.
      const expected = known.findEntry(line, column);
      const found = sourcePosition(payload, line, column);
      if (!("originalSource" in expected) || expected.originalSource === undefined) expect(found).toBeUndefined();
      else {
        const { originalSource: source, originalLine, originalColumn } = expected;
        expect(found).toEqual({ source, line: originalLine, column: originalColumn });
      }
    }),
  );
});
