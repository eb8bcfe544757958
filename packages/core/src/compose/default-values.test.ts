import { expect, test } from "vitest";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { readDefaults } from "./default-values.ts";
import { parseCompose } from "./parse.ts";

/** The values with which a stored compose file is started, including those that a user sets. */
function started(environment: readonly string[], set: Readonly<Record<string, string>> = {}) {
  const compose = parseCompose(JSON.stringify({ services: { web: { image: "a", environment } } }));
  if ("problems" in compose) throw new Error(compose.problems.join());
  const recorded = Object.fromEntries(compose.variables.map(({ key, fallback }) => [key, fallback ?? ""]));
  return readDefaults(compose.variables, { ...recorded, ...set });
}

test("reads a default with variables in it as the compose tool does, and follows them", () => {
  const entries = ["A=${OUTER:-${INNER:-deep}}", "B=${URL:-http://$HOST:${PORT:-80}/}"];
  expect(started(entries)).toEqual({ OUTER: "deep", INNER: "deep", URL: "http://:80/", HOST: "", PORT: "80" });
  expect(started(entries, { INNER: "new", HOST: "h" })).toMatchObject({ OUTER: "new", URL: "http://h:80/" });
});

test("takes what Berth made for a default that names it", () => {
  const entries = ["PASSWORD=${DB_PASSWORD:-$SERVICE_PASSWORD_DB}"];
  expect(started(entries, { SERVICE_PASSWORD_DB: "made" })).toMatchObject({ DB_PASSWORD: "made" });
});

test("reads a doubled dollar of a default as one", () => {
  expect(started(["A=${PRICE:-5$$}"])).toEqual({ PRICE: "5$" });
});

test("leaves a value that somebody set as it is, whatever stands in it", () => {
  expect(started(["A=${OUTER:-${INNER:-deep}}"], { OUTER: "$INNER $$ ${X}" })).toMatchObject({
    OUTER: "$INNER $$ ${X}",
  });
});

test("ends where defaults name each other", () => {
  expect(started(["X=${A:-${B:-$A}}", "Y=${B:-$A}"])).toEqual({ A: "", B: "" });
});

test("is refused when defaults that name each other come to too much", () => {
  const chain = (size: number, times: number) =>
    Array.from({ length: size }, (_, at) => `X${at}=\${A${at}:-${`$A${at + 1}`.repeat(times)}}`);
  const cost = cpuCost(() => {
    expect(() => started(chain(15, 50))).toThrow(/exceed/);
    expect(() => started([...chain(6, 50), `X=\${A6:-${"x".repeat(1000)}}`])).toThrow(/exceed/);
  });
  expect(cost).toBeLessThan(300);
});

test.each([
  ["name a long value again and again", "${B}".repeat(5), 600],
  ["are long and come to nothing", `\${C:+${"x".repeat(100_000)}}`, 1],
])("is refused when defaults %s", (_, text, count) => {
  const entries = Array.from({ length: count }, (_each, at) => `X${at}=\${A${at}:-${text}}`);
  const all = `X=\${Z:-${"$A0".repeat(1000)}}`;
  const cost = cpuCost(() => {
    expect(() => started([...entries, all], { B: "x".repeat(100_000) })).toThrow(/exceed/);
  });
  expect(cost).toBeLessThan(150);
});
