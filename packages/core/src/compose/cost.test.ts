import { describe, expect, test } from "vitest";
import { isMoment } from "../cpu-cost.fixture.ts";
import { inlineSecrets } from "./inline-secrets.ts";
import { mergeCompose } from "./merge.ts";
import { parseCompose, parseWrittenCompose } from "./parse.ts";
import { renderCompose } from "./render.ts";

const many = (count: number, item: (at: number) => string, between = ",") =>
  Array.from({ length: count }, (_, at) => item(at)).join(between);
const web = (line: string) => `services:\n  web:\n    image: a\n    ${line}\n`;
const services = (line: (at: number) => string) => `services: {${many(99, (at) => `s${at}: {image: a, ${line(at)}}`)}}`;

/** Each is as large as the limits allow, or slightly larger. */
const TEXTS: readonly (readonly [string, string])[] = [
  ["entries of a list", web(`command: [${many(5300, () => "a")}]`)],
  ["variables in quotes", web(`environment: {${many(3980, (at) => `"A${at}":"b"`)}}`)],
  ["variables with comments", web(`environment:\n${many(1590, (at) => `      A${at}: b # c`, "\n")}`)],
  ["variables by alias", `x-a: &a {${many(155, (at) => `A${at}: b`)}}\n${services(() => "environment: *a")}`],
  ["merged variables", `x-a: &a {${many(155, (at) => `A${at}: b`)}}\n${services(() => "environment: {<<: *a}")}`],
  ["nested lists", `x-a: [${many(540, () => "[".repeat(14) + "]".repeat(14))}]\n${web("command: a")}`],
  ["wrong ports", services(() => `ports: [${many(50, () => "[]")}]`)],
  ["wrong variables", services(() => `environment: [${many(50, () => "[]")}]`)],
  ["wrong volumes", services(() => `volumes: [${many(18, () => "{type: 1}")}]`)],
  ["wrong volumes of one container", web(`volumes: [${many(5300, () => "1")}]`)],
  ["unknown keys", services(() => many(22, (at) => `environmemt${at}: 1`))],
  ["$", web(`command: "${"$V".repeat(5000)}"`)],
  ["$ by alias", `x-a: &a "${"$V".repeat(5000)}"\n${web(`command: [${many(20, () => "*a")}]`)}`],
  ["URLs", services(() => `command: "${many(50, (at) => `$SERVICE_URL_X${at}_1`, " ")}"`)],
  ["nested defaults", web(`command: "${many(7, () => `${"${A:-".repeat(8)}${"x".repeat(130_000)}${"}".repeat(8)}`)}"`)],
  ["closing braces", web(`command: "$V${"}".repeat(1_000_000)}"`)],
  ["lines", web(`command: |\n${"      x\n".repeat(49_990)}`)],
  ["words", web(`command: "${"--p a ".repeat(170_000)}"`)],
  ["quotes", web(`command: '${"''".repeat(500_000)}'`)],
  ["passwords", web(`command: "${"a://a:b@ ".repeat(110_000)}"`)],
  ["colons", web(`volumes: ["${":".repeat(1_000_000)}"]`)],
];

describe("a compose file costs a moment, whatever it is full of", () => {
  test.each(TEXTS)("when it is read: %s", (_, text) => {
    expect(isMoment(() => parseCompose(text))).toBe(true);
  });

  test.each(TEXTS)("when it is shown as it is started: %s", (_, text) => {
    const compose = parseCompose(text);
    const settings = { connect_to_docker_network: true, is_container_label_escape_enabled: true };
    const shown = () => "problems" in compose || renderCompose(compose, { uuid: "u", settings, network: "n" });
    expect(isMoment(shown)).toBe(true);
  });

  test.each(TEXTS)("when its secrets are looked for: %s", (_, text) => {
    expect(isMoment(() => inlineSecrets(text, {}))).toBe(true);
  });

  test("when it was written by Berth, with thousands of variables of files", () => {
    const environment = Object.fromEntries(Array.from({ length: 7000 }, (_, at) => [`A${at}`, "$B"]));
    const text = JSON.stringify({ services: { web: { image: "a", environment }, two: { image: "a", environment } } });
    expect("problems" in parseWrittenCompose(text)).toBe(false);
    expect(isMoment(() => parseWrittenCompose(text))).toBe(true);
  });

  test("and each of several that are merged in a step of its own", () => {
    const parts = Array.from({ length: 20 }, () => ({ path: "a.yaml", text: TEXTS[1]?.[1] ?? "" }));
    expect(mergeCompose(parts)).toHaveProperty("text");
    expect(isMoment(() => mergeCompose(parts.slice(0, 1)))).toBe(true);
  });
});

test("a compose file that Berth wrote is read like any other", () => {
  const document = { services: { web: { image: "a", environment: { A: "${B:-1}", C: 2 }, scale: 2 } } };
  const { document: read, variables, environments, containers } = composeOf(JSON.stringify(document));
  const yaml = parseCompose(JSON.stringify(document));
  expect(yaml).toEqual({ document: read, variables, environments, containers, urls: [] });
  expect(parseWrittenCompose("services: { web: { image: a } }")).toHaveProperty("document");
  expect(parseWrittenCompose(`{"services":{"web":{"image":"a","x-a":[${many(30_001, () => "1")}]}}}`)).toEqual({
    problems: ["Has more than 30000 values."],
  });
});

function composeOf(text: string) {
  const compose = parseWrittenCompose(text);
  if ("problems" in compose) throw new Error(compose.problems.join());
  return compose;
}
