import { DomainError } from "@berth/core";
import { describe, expect, test } from "vitest";
import { errorSummary } from "./error-summary.ts";

const hide = (text: string) => text.replaceAll("hunter2", "[REDACTED]");

describe("an error in the log", () => {
  test("is its name, its code, its place and a message without secrets", () => {
    const fault = errorSummary(new DomainError("engine.failed", "It exited: hunter2"), hide);
    expect(fault).toMatchObject({ name: "DomainError", code: "engine.failed", message: "It exited: [REDACTED]" });
    expect(JSON.stringify(fault.at)).toContain("error-summary.test.ts");
  });

  test("is no more than the beginning of a long message", () => {
    expect(errorSummary(new Error("x".repeat(3_500_000)), hide).message).toBe("x".repeat(200));
  });

  test("holds nothing of a message whose secrets are not known", () => {
    const error = new SyntaxError("Invalid regular expression: /hunter2|\n    at hunter2 (file.ts:1:1)\n/: too large");
    expect(errorSummary(error)).toMatchObject({ name: "SyntaxError" });
    expect(JSON.stringify(errorSummary(error))).not.toContain("hunter2");
    error.message = "Another one.";
    expect(JSON.stringify(errorSummary(error))).not.toContain("hunter2");
  });

  test("is little of what is no error", () => {
    expect(errorSummary("hunter2")).toEqual({ name: "string" });
  });
});
