import { describe, expect, test } from "vitest";
import { readCode, secondFactorView, shownCode } from "./second-factor.ts";

describe("a code of a second factor", () => {
  test.each([
    ["123456", "app", "123456"],
    [" 123 456 ", "app", "123456"],
    ["ABCD-EFGH-IJKL-MN23", "recovery", "ABCDEFGHIJKLMN23"],
    ["abcd efgh ijkl mn23", "recovery", "ABCDEFGHIJKLMN23"],
    ["1234567", "recovery", "1234567"],
    ["", "recovery", ""],
  ] as const)("%o is one of the %s", (code, kind, text) => {
    expect(readCode(code)).toEqual({ kind, text });
  });

  test("is read as it is shown", () => {
    expect(shownCode("ABCDEFGHIJKLMN23")).toBe("ABCD-EFGH-IJKL-MN23");
    expect(readCode(shownCode("ABCDEFGHIJKLMN23")).text).toBe("ABCDEFGHIJKLMN23");
  });
});

test("a second factor counts once it is confirmed", () => {
  const factor = { secret: "A", confirmed_at: null, recovery_codes_left: 0 };
  expect(secondFactorView(undefined).is_enabled).toBe(false);
  expect(secondFactorView(factor).is_enabled).toBe(false);
  expect(secondFactorView({ ...factor, confirmed_at: new Date(0) })).toMatchObject({
    is_enabled: true,
    enabled_at: "1970-01-01T00:00:00.000000Z",
  });
});
