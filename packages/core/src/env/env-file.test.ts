import { parse } from "dotenv";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuCost, isMoment } from "../cpu-cost.fixture.ts";
import { composeEnvFile, parseEnvFile, readEnvFile } from "./env-file.ts";

const one = (text: string) => {
  const [entry, ...others] = parseEnvFile(text);
  return others.length > 0 ? "several" : (entry ?? "none");
};

describe("a text in env format", () => {
  test.each([
    ["A=b", { key: "A", value: "b", comment: null }],
    ["A=b # why", { key: "A", value: "b", comment: "why" }],
    ["A=b #", { key: "A", value: "b", comment: null }],
    ["A=b#c", { key: "A", value: "b#c", comment: null }],
    ["COLOR=#fff", { key: "COLOR", value: "#fff", comment: null }],
    ["A= # nothing yet", { key: "A", value: "", comment: "nothing yet" }],
    ["A=a#b # c # d", { key: "A", value: "a#b", comment: "c # d" }],
    ['A="x # y" # why', { key: "A", value: "x # y", comment: "why" }],
    ["A='x # y'# why", { key: "A", value: "x # y", comment: "why" }],
    ["A=`x 'y' \"z\"`", { key: "A", value: "x 'y' \"z\"", comment: null }],
    ['A="one\ntwo" # lines', { key: "A", value: "one\ntwo", comment: "lines" }],
    ['A="one\\ntwo"', { key: "A", value: "one\ntwo", comment: null }],
    ["A='one\\ntwo'", { key: "A", value: "one\\ntwo", comment: null }],
    ['A="unclosed', { key: "A", value: '"unclosed', comment: null }],
    ["export A=b", { key: "A", value: "b", comment: null }],
    ["  A = b  ", { key: "A", value: "b", comment: null }],
    ["A: b", { key: "A", value: "b", comment: null }],
    ["A=", { key: "A", value: "", comment: null }],
    ["A=b=c", { key: "A", value: "b=c", comment: null }],
    ["A=b\r\n", { key: "A", value: "b", comment: null }],
    ["\uFEFFA=b", { key: "A", value: "b", comment: null }],
    ["A=1\nA=2 # later", { key: "A", value: "2", comment: "later" }],
    ["# A=b", "none"],
    ["A", "none"],
    ["=b", "none"],
    ["A b=c", "none"],
    ["", "none"],
  ])("[S11] %j is read with its comment", (text, expected) => {
    expect(one(text)).toEqual(expected);
  });

  test("tells which of its lines are none of a variable", () => {
    const text = '\uFEFFA=1\r\nnonsense\n\n  # fine\nB="2\n3"\n=4\nC D=5\nE=6';
    expect(readEnvFile(text).unreadLines).toEqual([2, 7, 8]);
    expect(readEnvFile("").unreadLines).toEqual([]);
  });

  test("keeps the order of what counts", () => {
    expect(parseEnvFile("A=1\n\n# two\nB=2\nnonsense\nC='3\n4'\nA=5").map(({ key, value }) => [key, value])).toEqual([
      ["B", "2"],
      ["C", "3\n4"],
      ["A", "5"],
    ]);
  });

  test("agrees with dotenv on every value whose comments stand behind white space", () => {
    const key = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/);
    const plain = fc.stringMatching(/^[a-z0-9 =:/.$"'\\-]{0,20}$/);
    const quoted = fc
      .tuple(fc.constantFrom('"', "'", "`"), fc.stringMatching(/^[a-z0-9 #=\\n\n$-]{0,20}$/))
      .map(([quote, inner]) => `${quote}${inner}${quote}`);
    const line = fc
      .tuple(fc.constantFrom("", "export ", "  "), key, fc.oneof(plain, quoted), fc.constantFrom("", " # why", "  "))
      .map(([before, name, value, after]) => `${before}${name}=${value}${after}`);
    const text = fc.array(fc.oneof(line, fc.constantFrom("", "# note", "nonsense")), { maxLength: 6 });
    fc.assert(
      fc.property(text, (lines) => {
        const source = lines.join("\n");
        // An unclosed quote changes which later ones open and close, so text that was quoted is not.
        fc.pre(!/\S#/.test(source));
        const read = Object.fromEntries(parseEnvFile(source).map((entry) => [entry.key, entry.value]));
        expect(read).toEqual(parse(source));
      }),
      // Example: a key whose `=` is on the next line.
      { numRuns: 5000, examples: [[['_="', 'A="\n0\n="']], [["A=", '"x"']]] },
    );
  });

  test("is read in a moment, however much of it is passed over", () => {
    const read = () => readEnvFile(`A="1\n2"\n${"nonsense\n".repeat(100_000)}B=1`);
    expect(cpuCost(read)).toBeLessThan(150);
    const { entries, unreadLines } = read();
    expect([entries.length, unreadLines.length, unreadLines[0], unreadLines.at(-1)]).toEqual([2, 100_000, 3, 100_002]);
  });

  test.each([
    ["lines", "A=\n".repeat(10_001), false],
    ["lines", "A=\r".repeat(10_001), true],
    ["$", `A='${"$".repeat(10_001)}'`, false],
    ["$", `A=${"$".repeat(10_001)}`, true],
  ])("is refused by a build with more %s than anybody writes", (what, text, isRaw) => {
    expect(() => composeEnvFile(text, { isRaw })).toThrow(`An env file has more than 10000 ${what}.`);
  });

  test.each([
    ["distinct variables", Array.from({ length: 9999 }, (_, at) => `A${at}='${"x".repeat(90)}'`).join("\n")],
    ["$", `A='${"$".repeat(10_000)}'`],
    ["escaped quotes", `A="${'\\"'.repeat(500_000)}`],
    ["escaped line ends", `A="${"\\n".repeat(500_000)}"`],
    ["quotes that stay open", Array.from({ length: 9999 }, (_, at) => `A${at}="${'\\"'.repeat(40)}' x`).join("\n")],
    ["spaces", `A=${" ".repeat(1_000_000)}x`],
  ])("is read by a build in a moment, whatever stands in it: %s", (_, text) => {
    expect(isMoment(() => composeEnvFile(text, { isRaw: false }))).toBe(true);
    expect(isMoment(() => composeEnvFile(text, { isRaw: true }))).toBe(true);
  });
});
