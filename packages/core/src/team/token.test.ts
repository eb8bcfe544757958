import { describe, expect, test } from "vitest";
import { covers, secretOf, TokenCreate, tokenSecret, tokenText } from "./token.ts";

describe("a token", () => {
  test("is its number and a secret that ends with its checksum", () => {
    const secret = tokenSecret((length) => "a".repeat(length));
    // The CRC-32 of forty times "a", computed by another tool.
    expect(secret).toBe(`${"a".repeat(40)}c95b8a25`);
    expect(tokenText(7, secret)).toBe(`7|${secret}`);
    expect([secretOf(tokenText(7, secret)), secretOf(secret)]).toEqual([secret, secret]);
  });

  test("may never do more than the one who hands it out", () => {
    expect([
      covers(["root"], ["root", "write"]),
      covers(["read", "write"], ["write"]),
      covers(["write"], ["read"]),
      covers(["read"], ["root"]),
    ]).toEqual([true, true, false, false]);
  });

  test.each([
    ["2030-01-31T12:00:00Z", true],
    ["2030-01-31T12:00:00+02:00", true],
    ["2030-01-31", false],
    ["soon", false],
  ])("may expire at %s: %s", (expires_at, isFine) => {
    expect(TokenCreate.safeParse({ name: "ci", expires_at }).success).toBe(isFine);
  });
});
