import { DomainError } from "@berth/core";
import { describe, expect, test } from "vitest";
import { faultOf } from "./error-summary.ts";

const hide = (text: string) => text.replaceAll("hunter2", "[REDACTED]");

describe("an error in the log", () => {
  test("is its name, its code, its place and a message without secrets", () => {
    const fault = faultOf(new DomainError("engine.failed", "It exited: hunter2"), hide);
    expect(fault).toMatchObject({ name: "DomainError", code: "engine.failed", message: "It exited: [REDACTED]" });
    expect(JSON.stringify(fault.at)).toContain("fault.test.ts");
  });

  test("is no more than the beginning of a long message", () => {
    expect(faultOf(new Error("x".repeat(3_500_000)), hide).message).toBe("x".repeat(200));
  });

  test("holds nothing of a message whose secrets are not known", () => {
    const error = new SyntaxError("Invalid regular expression: /hunter2|\n    at hunter2 (file.ts:1:1)\n/: too large");
    expect(faultOf(error)).toMatchObject({ name: "SyntaxError" });
    expect(JSON.stringify(faultOf(error))).not.toContain("hunter2");
    error.message = "Another one.";
    expect(JSON.stringify(faultOf(error))).not.toContain("hunter2");
  });

  test("is little of what is no error", () => {
    expect(faultOf("hunter2")).toEqual({ name: "string" });
  });
});
