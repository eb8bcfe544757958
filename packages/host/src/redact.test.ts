import { createHash } from "node:crypto";
import { cpuCost } from "@berth/core/testing";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LINE_LENGTH_MAX, splitLines } from "./lines.ts";
import { redactor } from "./redact.ts";

const SECRET = "p@ss/w0rd+%é&";
const KEY = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA\n75zCdO0xIp\n-----END KEY-----\n";

describe("redactor", () => {
  test.each([
    ["the value itself", SECRET],
    ["its url-encoded form", encodeURIComponent(SECRET)],
    ["its url-encoded form in lower case", encodeURIComponent(SECRET).toLowerCase()],
    ["its base64", Buffer.from(SECRET).toString("base64")],
    ["its url-safe base64", Buffer.from(SECRET).toString("base64url")],
    ["one line of a value of several", "MIIEpAIBAAKCAQEA"],
    ["a value of several lines, escaped", JSON.stringify(KEY).slice(1, -1)],
  ])("hides %s", (_, text) => {
    expect(redactor([SECRET, KEY])(`before ${text} after`)).toBe("before [REDACTED] after");
  });

  test("hides it within the base64 of a longer text", () => {
    const basic = Buffer.from(`user:${SECRET}`).toString("base64");
    const line = redactor([SECRET])(`authorization: Basic ${basic}`);
    expect(line).toContain("[REDACTED]");
    expect(Buffer.from(line.split(" ").at(-1) ?? "", "base64").toString()).not.toContain(SECRET.slice(2, -3));
  });

  test("hides the longer of two values that begin alike", () => {
    expect(redactor(["token", "token-and-more"])("token-and-more token")).toBe("[REDACTED] [REDACTED]");
  });

  test("hides two values that overlap to their last character", () => {
    expect(redactor(["abcdef", "defghi"])("<abcdefghi>")).toBe("<[REDACTED]>");
  });

  test("hides 10,000 values, and the lines of one value of as many, in long lines without delay", () => {
    const values = Array.from({ length: 10_000 }, (_, index) => `${"key-".repeat(6)}${index}`.padEnd(32, "="));
    const cost = cpuCost(() => {
      for (const secrets of [values, [values.join("\n")]]) {
        const redact = redactor(secrets);
        expect(redact(values.slice(0, 1500).join(" "))).toBe(Array(1500).fill("[REDACTED]").join(" "));
        expect(redact(`<${values.at(-1)}>`)).toBe("<[REDACTED]>");
        const harmless = "key-".repeat(15_000);
        expect(redact(harmless)).toBe(harmless);
      }
    });
    expect(cost).toBeLessThan(300);
  });

  test("bounds what thousands of long values cost, and still hides short ones in every form", () => {
    const long = Array.from({ length: 400 }, (_, at) =>
      createHash("shake256", { outputLength: 20_000 }).update(`${at}`).digest("hex"),
    );
    let redact = redactor([]);
    const cost = cpuCost(() => {
      redact = redactor([...long, SECRET]);
    });
    expect(cost).toBeLessThan(30);
    expect(redact(`<${encodeURIComponent(SECRET)}>`)).toBe("<[REDACTED]>");
    for (const secret of [long[0] ?? "", long[399] ?? ""]) {
      expect(redact(`<${secret.slice(0, 1024)}`)).toBe("<[REDACTED]");
    }
  });

  test("hides a secret that is longer than a line may be, whatever stands around it", () => {
    const secret = Array.from({ length: 20_000 }, (_, index) => `${index}:`).join("");
    expect(secret.length).toBeGreaterThan(LINE_LENGTH_MAX);
    const redact = redactor([secret]);
    const lines: string[] = [];
    const splitter = splitLines((line) => lines.push(redact(line)));
    splitter.write(Buffer.from(`before ${secret} after\n`));
    expect(lines).toEqual(["before [REDACTED]", "[REDACTED] after"]);
    expect(redact(`before ${Buffer.from(secret).toString("base64").slice(0, 60_000)}`)).toMatch(
      /^before \[REDACTED\].{0,63}$/,
    );
  });

  test("leaves alone what is shorter than 4 characters", () => {
    expect(redactor(["abc", ""])("abc abcd")).toBe("abc abcd");
  });

  test("takes a value literally, whatever a pattern would make of it", () => {
    expect(redactor(["a.*b[c"])("axxb a.*b[c")).toBe("axxb [REDACTED]");
  });

  test("lets no line of any text through that holds a secret", () => {
    const secret = fc.string({ minLength: 4, maxLength: 30 }).filter((text) => !/[\r\n]/.test(text));
    fc.assert(
      fc.property(fc.array(secret, { minLength: 1, maxLength: 5 }), fc.string(), (secrets, text) => {
        // The text between the marks must be free of secrets; a mark may contain a short one by chance.
        const rest = redactor(secrets)(text + secrets.join(text)).split("[REDACTED]");
        expect(rest.filter((part) => secrets.some((value) => part.includes(value)))).toEqual([]);
      }),
    );
  });

  test("hides a secret that was torn because its line was too long", () => {
    for (let before = LINE_LENGTH_MAX - SECRET.length - 1; before <= LINE_LENGTH_MAX + 1; before++) {
      const redact = redactor([SECRET]);
      const lines: string[] = [];
      const splitter = splitLines((line) => lines.push(redact(line)));
      splitter.write(Buffer.from(`${"x".repeat(before)}${SECRET}y\n`));
      expect(lines.join("").replaceAll("[REDACTED]", "")).toBe(`${"x".repeat(before)}y`);
    }
  });
});
