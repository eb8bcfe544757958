import { describe, expect, test } from "vitest";
import { ago, bytes, duration } from "./format.ts";
import { output } from "./output.ts";
import { printable, printableLine } from "./printable.ts";
import { screen } from "./screen.fixture.ts";
import { statusText } from "./status-text.ts";

function outputs(options: { json?: boolean; isTTY?: boolean; color?: boolean; env?: Record<string, string> } = {}) {
  const { json = false, isTTY = false, color = true, env = {} } = options;
  const stdout = screen({ isTTY });
  const stderr = screen({ isTTY });
  const made = output({ stdout: stdout.stream, stderr: stderr.stream, env }, { json, verbose: false, color });
  return { output: made, stdout: stdout.text, stderr: stderr.text };
}

const ROWS = [
  ["shop", "running", "https://shop.example.com"],
  ["a-long-name-of-a-thing", "exited", "-"],
];

describe("a table", () => {
  test("is plain aligned text when nobody watches", () => {
    const { output: out, stdout } = outputs();
    out.table(["NAME", "STATUS", "URL"], ROWS);
    expect(stdout()).toMatchInlineSnapshot(`
      "NAME                    STATUS   URL
      shop                    running  https://shop.example.com
      a-long-name-of-a-thing  exited   -
      "
    `);
  });

  test("has colours on a terminal, and aligns all the same", () => {
    const { output: out, stdout } = outputs({ isTTY: true });
    out.table(["NAME", "STATUS"], [["shop", statusText("running:healthy", out.colors)]]);
    expect(stdout()).toBe(
      "\u001b[1mNAME\u001b[22m  \u001b[1mSTATUS\u001b[22m\nshop  \u001b[32mrunning (healthy)\u001b[39m\n",
    );
  });

  test.each([
    ["NO_COLOR", { env: { NO_COLOR: "1" } }],
    ["--no-color", { color: false }],
    ["TERM=dumb", { env: { TERM: "dumb" } }],
  ])("has none with %s", (_title, options) => {
    const { output: out, stdout } = outputs({ isTTY: true, ...options });
    out.table(["NAME"], [[out.colors.red("shop")]]);
    expect(stdout()).toBe("NAME\nshop\n");
  });
});

describe("--json", () => {
  test("leaves standard output to the API's answer, and people on standard error", () => {
    const { output: out, stdout, stderr } = outputs({ json: true, isTTY: true });
    out.line("for people");
    out.table(["NAME"], [["shop"]]);
    out.show({ uuid: "u1", name: "shop" }, () => out.line("never"));
    out.json({ type: "line" });
    expect(stdout()).toBe('{\n  "uuid": "u1",\n  "name": "shop"\n}\n{"type":"line"}\n');
    expect(stderr()).toContain("for people");
    expect(stderr()).not.toContain("never");
    expect(out.isLive).toBe(false);
  });
});

describe("text from elsewhere", () => {
  test.each([
    ["a\u001b]0;title\u0007b", "ab"],
    ["a\u001b[2J\u001b[Hb", "ab"],
    ["two\nlines\tand\u2028more", "two lines and more"],
    ["\u0000\u0008\u009bbell\u0007", "bell"],
    ["ünïcödé 日本", "ünïcödé 日本"],
  ])("%j is shown as %j", (text, expected) => {
    expect(printable(text)).toBe(expected);
  });

  test.each([
    ["\u001b[31mred\u001b[0m", true, "\u001b[31mred\u001b[0m\u001b[0m"],
    ["\u001b[31mred", true, "\u001b[31mred\u001b[0m"],
    ["\u001b[31mred\u001b[0m", false, "red"],
    ["\u001b[2J\u001b[32mok\u001b]8;;http://x\u0007", true, "\u001b[32mok\u001b[0m"],
    ["10 %\r50 %\r100 %\r", false, "100 %"],
    ["  indented\tkept", false, "  indented\tkept"],
  ])("the log line %j keeps its colours at most", (line, hasColors, expected) => {
    expect(printableLine(line, hasColors)).toBe(expected);
  });
});

describe("figures", () => {
  test.each([
    [0, "0 ms"],
    [999.4, "999 ms"],
    [1000, "1.0 s"],
    [59_940, "59.9 s"],
    [59_960, "1 min 0 s"],
    [125_000, "2 min 5 s"],
    [3_600_000, "1 h 0 min"],
  ])("%i milliseconds are %s", (milliseconds, text) => {
    expect(duration(milliseconds)).toBe(text);
  });

  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [999_960, "1.0 MB"],
    [20_500_000, "20.5 MB"],
  ])("%i bytes are %s", (count, text) => {
    expect(bytes(count)).toBe(text);
  });

  test.each([
    [null, "never"],
    ["2026-01-02T03:04:05.678000Z", "just now"],
    ["2026-01-02T03:02:00.000000Z", "2 min ago"],
    ["2026-01-01T03:04:00.000000Z", "1 day ago"],
    ["soon", "soon"],
  ])("%s was %s", (time, text) => {
    expect(ago(time, new Date("2026-01-02T03:04:06Z"))).toBe(text);
  });
});
