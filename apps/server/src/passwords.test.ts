import { describe, expect, test } from "vitest";
import { passwordHasher } from "./passwords.ts";

describe("passwords", () => {
  const passwords = passwordHasher();

  test("are found again by their hash, and no other is", async () => {
    const hash = await passwords.hash("correct horse battery");
    expect(hash).toMatch(/^argon2id\$19456\$2\$/);
    expect(await passwords.verify("correct horse battery", hash)).toBe(true);
    expect(await passwords.verify("correct horse batterz", hash)).toBe(false);
    expect(await passwords.verify("", hash)).toBe(false);
  });

  test("have a salt each", async () => {
    expect(await passwords.hash("correct horse battery")).not.toBe(await passwords.hash("correct horse battery"));
  });

  test("match nothing where a user has none, or the stored text is damaged", async () => {
    expect(await passwords.verify("x", null)).toBe(false);
    expect(await passwords.verify("x", "argon2id$1$1$$")).toBe(false);
  });

  test("that too many ask for at once are refused, and the others answered", async () => {
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => passwords.verify("x", null)));
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual(20);
    expect(refused[0]).toMatchObject({ reason: { code: "request.overloaded", retryAfterSeconds: 5 } });
  });
});
