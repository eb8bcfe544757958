import { describe, expect, test } from "vitest";
import { output } from "../output.ts";
import { screen } from "../screen.fixture.ts";
import type { Session } from "../session.ts";
import { waitingLine } from "./waiting.ts";

/** What is printed while a command waits until each of these milliseconds. */
function printed(moments: readonly number[], { isTTY = false, json = false } = {}): string {
  const [out, err] = [screen({ isTTY }), screen()];
  const system = { stdout: out.stream, stderr: err.stream, env: {} };
  let now = 0;
  const session = { system, output: output(system, { json, verbose: false, color: false }) };
  // Only these fields are used.
  const line = waitingLine(session as unknown as Session, "Waiting until shop has stopped", () => now);
  for (const moment of moments) {
    now = moment;
    line.tick();
  }
  line.clear();
  return out.text() + err.text();
}

describe("while a command waits", () => {
  test("a terminal shows how long already, on one line that is gone at the end", () => {
    const text = printed([500, 1_000, 2_500], { isTTY: true });
    expect(text.split("\r\u001b[K")).toEqual([
      "⠋ Waiting until shop has stopped (1 s)",
      "⠙ Waiting until shop has stopped (2 s)",
      "",
    ]);
  });

  test("a log gets a line every ten seconds", () => {
    expect(printed([5_000, 10_000, 15_000, 19_999, 20_000])).toBe(
      "Waiting until shop has stopped (10 s)\nWaiting until shop has stopped (20 s)\n",
    );
  });

  test.each([[{ isTTY: true }], [{ json: true }]])("nothing is said of what is done at once, nor in JSON: %j", (of) => {
    expect(printed("json" in of ? [30_000] : [900], of)).toBe("");
  });
});
