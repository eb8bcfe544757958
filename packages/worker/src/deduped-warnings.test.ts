import { DomainError } from "@berth/core";
import { beforeEach, expect, test } from "vitest";
import { dedupedWarnings } from "./deduped-warnings.ts";

let told: string[];
beforeEach(() => {
  told = [];
});
const tell = (level: string) => (message: string) => void told.push(`${level} ${message}`);
const made = () =>
  dedupedWarnings({ debug: () => undefined, info: tell("info"), warn: tell("warn"), error: tell("error") });
const unreachable = (message: string) => ({ error: new DomainError("server.unreachable", message) });

test("what fails again and again is told once, and so is its end", () => {
  const warnings = made();
  warnings.failed("one", "Not there.", unreachable("Port 2201 refused."));
  warnings.failed("one", "Not there.", unreachable("Port 2202 refused."));
  warnings.over("one", "There again.", {});
  warnings.over("one", "There again.", {});
  warnings.failed("one", "Not there.", unreachable("Port 2203 refused."));
  expect(told).toEqual(["warn Not there.", "info There again.", "warn Not there."]);
});

test("a trouble of another kind, or of somebody else, is told", () => {
  const warnings = made();
  warnings.failed("one", "Not there.", unreachable("It refused."));
  warnings.failed("one", "Not there.", { error: new DomainError("database.unavailable", "The database is away.") });
  warnings.failed("two", "Not there.", unreachable("It refused."));
  expect(told).toHaveLength(3);
});
