import { DomainError } from "@berth/core";
import { describe, expect, test } from "vitest";
import { faultLog } from "./fault-log.ts";

function written() {
  const lines: { message: string; details: Readonly<Record<string, unknown>> | undefined }[] = [];
  const clock = { ms: 0 };
  const report = faultLog({ error: (message, details) => void lines.push({ message, details }) }, () => clock.ms);
  return { lines, clock, fail: (error: unknown) => report(error, { id: "r1", operation: "applications.list" }) };
}

describe("answers that are Berth's own fault", () => {
  test("are written once a minute for each reason, with how many there were", () => {
    const { lines, clock, fail } = written();
    const away = () => new DomainError("database.unavailable", "Away.", { cause: new Error("connect ECONNREFUSED") });
    for (let at = 0; at < 1000; at += 1) fail(new Error("wrapped", { cause: away() }));
    fail(new DomainError("storage.full", "Full."));
    expect(lines.map(({ message }) => message)).toEqual(["A request failed: Away.", "A request failed: Full."]);
    expect(lines[0]?.details).toEqual({
      ...{ request_id: "r1", operation: "applications.list" },
      ...{ code: "database.unavailable", cause: "connect ECONNREFUSED" },
    });
    clock.ms = 60_000;
    fail(away());
    expect(lines[2]?.details).toMatchObject({ others_since: 999 });
  });

  test("have their stack when they have no code of their own", () => {
    const { lines, fail } = written();
    const error = new TypeError("x is not a function");
    fail(error);
    expect(lines[0]?.details).toMatchObject({ error });
  });
});
