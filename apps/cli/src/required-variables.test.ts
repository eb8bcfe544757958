import { expect, test } from "vitest";
import { withSentences } from "./required-variables.ts";

test("variables that are required with a sentence are those whose value would be it", () => {
  const variable = (key: string, value: string | null | undefined, is_required = true) => ({ key, value, is_required });
  const found = withSentences([
    variable("PW", "set a password"),
    variable("PW", "set a password"),
    variable("MAGIC", "x8Hq2"),
    variable("EMPTY", ""),
    variable("HIDDEN", undefined),
    variable("CHOSEN", "two words", false),
  ]);
  expect(found).toEqual(["PW"]);
});
