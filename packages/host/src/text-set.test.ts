import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textSet } from "./text-set.ts";

describe("textSet", () => {
  // Few letters, so that many texts share prefixes and contain each other.
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "\uD83D", "\uFFFF"), maxLength: 12 });
  const texts = fc.array(
    letters.map((text) => `ab${text}`).filter(({ length }) => length >= 4),
    { maxLength: 12 },
  );

  test("finds the longest text at every place, as comparing with each does", () => {
    fc.assert(
      fc.property(texts, letters, (known, rest) => {
        const text = `${known.join("a")}${rest}`;
        const set = textSet(known);
        for (let at = 0; at < text.length; at++) {
          const lengths = known.filter((each) => text.startsWith(each, at)).map(({ length }) => length);
          expect(set.matchLength(text, at)).toBe(Math.max(0, ...lengths));
        }
      }),
    );
  });

  test("knows of every end of a text whether it is the start of a longer one", () => {
    fc.assert(
      fc.property(texts, letters, (known, rest) => {
        const text = `${known.join("")}ab${rest}`;
        const set = textSet(known);
        for (let at = 0; at < text.length; at++) {
          const end = text.slice(at);
          expect(set.isCutAt(text, at)).toBe(known.some((each) => each !== end && each.startsWith(end)));
        }
      }),
    );
  });
});
