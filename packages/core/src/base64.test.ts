import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBase64Field } from "./base64.ts";
import { isMoment } from "./cpu-cost.fixture.ts";

const encode = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

describe("a field that may come in base64", () => {
  test("is decoded when it is exactly what an encoder writes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        expect(decodeBase64Field(encode(text))).toBe(text);
      }),
    );
  });

  test.each([["FROM node:24\nCMD x"], [""], ["a b="], ["QUJD\n"], ["QUI"], ["QUJ="], ["a: b"]])(
    "takes %j as it is",
    (text) => {
      expect(decodeBase64Field(text)).toBe(text);
    },
  );

  test.each([
    ["text", "a"],
    ["bytes that are no text", "\xff"],
  ])("costs little, full of %s", (_, character) => {
    const sent = btoa(character.repeat(780_000)); // The largest in a body of 1 MB.
    expect(isMoment(() => decodeBase64Field(sent))).toBe(true);
  });

  test("is refused when it holds no text", () => {
    expect(decodeBase64Field(btoa("\xff\xfe\xfd"))).toBeUndefined();
  });
});
