import { expect, test } from "vitest";
import { isEnter } from "./log-hits.tsx";

test.each([
  ["Enter", false, true],
  ["Enter", true, false],
  ["a", false, false],
])("the key %s, in a composition: %s, goes to a hit: %s", (key, isComposing, goes) => {
  const nativeEvent = { isComposing } as KeyboardEvent;
  expect(isEnter({ key, nativeEvent })).toBe(goes);
});
