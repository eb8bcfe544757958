import { describe, expect, test } from "vitest";
import { withoutSession } from "./session-cookie.ts";

describe("the dashboard's session in a Cookie header", () => {
  test.each([
    ["a=1; berth_session=7.abc; b=2", "a=1; b=2"],
    ["berth_session=7.abc; b=2", "b=2"],
    ["a=1;berth_session=7.abc", "a=1"],
    ["a=1; __Host-berth_session=7.abc", "a=1"],
    ["berth_session=7.abc", ""],
    ["berth_session=1.a; berth_session=2.b;__Host-berth_session=3.c; a=1; berth_session=4.d", "a=1"],
    ["berth_session=; berth_session=7.abc", ""],
  ])("is taken away: %s", (sent, forwarded) => {
    expect(withoutSession(sent)).toBe(forwarded);
  });

  test.each(["a=1; b=2", "my_berth_session=1", "a=berth_session=1", "berth_sessions=1", ""])(
    "and nothing else: %s",
    (sent) => {
      expect(withoutSession(sent)).toBe(sent);
    },
  );
});
