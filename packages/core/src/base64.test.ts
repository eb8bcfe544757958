import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeBase64Field } from "./base64.ts";

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

  test("is refused when it holds no text", () => {
    expect(decodeBase64Field(btoa("\xff\xfe\xfd"))).toBeUndefined();
  });
});
