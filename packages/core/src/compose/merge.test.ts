import { describe, expect, test } from "vitest";
import { cpuCost } from "../cpu-cost.fixture.ts";
import { mergeCompose } from "./merge.ts";
import { parseCompose } from "./parse.ts";

const merge = (...texts: readonly string[]) => mergeCompose(texts.map((text, at) => ({ path: `${at}.yaml`, text })));

function whole(...texts: readonly string[]): unknown {
  const merged = merge(...texts);
  if ("problems" in merged) throw new Error(merged.problems.join());
  return JSON.parse(merged.text);
}

// The engine's tests compare the result with that of the compose tool.
describe("several compose files as one", () => {
  test("say what the last of them says, and the rest of all", () => {
    const base = "services: { web: { image: 'web:1', environment: [A=1, B=1], ports: ['80:80'] }, db: { image: db } }";
    const first = "services: { web: { image: 'web:2', environment: { B: 2 } } }";
    const second = "services: { web: { ports: ['81:81', '80:80/tcp'] } }";
    expect(whole(base, first, "", second)).toEqual({
      services: {
        web: { image: "web:2", environment: { A: "1", B: "2" }, ports: ["80:80/tcp", "81:81"] },
        db: { image: "db" },
      },
    });
  });

  test("join environments in each of the forms that are taken", () => {
    const base = 'services: { a: { image: a, environment: "A=1\\nB=1" } }';
    const list = "services: { a: { environment: [{ B: 2 }, C=2] } }";
    expect(whole(base, list, 'services: { a: { environment: "C=3" } }')).toEqual({
      services: { a: { image: "a", environment: { A: "1", B: 2, C: "3" } } },
    });
  });

  test("keep numbers of environments as they were written", () => {
    const merged = merge("services: { a: { image: a, environment: { A: 1.10, M: 0644 } } }", "services:");
    const compose = "text" in merged ? parseCompose(merged.text) : undefined;
    const entries = compose && "environments" in compose ? compose.environments.get("a") : undefined;
    expect(entries?.map(({ value }) => value)).toEqual(["1.10", "0644"]);
  });

  test("take away by !reset and replace by !override, of what a later file says too", () => {
    const base = "services: { a: { image: a, ports: ['1:1'], environment: { A: 1, B: 1 }, labels: [x=1] } }";
    const later =
      "services: { a: { ports: !reset null, environment: !override { C: 1 }, labels: { x: !reset null } } }";
    expect(whole(base, later, "services: { a: { ports: ['2:2'] } }")).toEqual({
      services: { a: { image: "a", ports: ["2:2"], environment: { C: "1" }, labels: {} } },
    });
    expect(whole("services: { a: { image: a, command: !reset null, user: !override root } }")).toEqual({
      services: { a: { image: "a", user: "root" } },
    });
  });

  test("pass on from outside what a later one only names", () => {
    const base = "services: { a: { environment: { A: 1, B: 1 }, build: { args: [C=1] } } }";
    expect(whole(base, "services: { a: { environment: [A], build: { args: { C: } } } }")).toEqual({
      services: { a: { environment: { A: null, B: "1" }, build: { args: { C: null } } } },
    });
  });

  test("take away and replace by what aliases stand for", () => {
    const base = "services: { a: { ports: ['1:1'], dns: [a], user: x } }";
    const later = "x-a: &a { dns: !override [b] }\nx-n: &n !reset null\nservices: { a: { <<: *a, ports: *n } }";
    expect(whole(base, later)).toMatchObject({ services: { a: { dns: ["b"], user: "x" } } });
    expect(whole(base, later)).not.toHaveProperty("services.a.ports");
  });

  test.each([
    [["services: {}", "a: ["], "1.yaml: Not valid YAML"],
    [["services: {}", "- a"], "1.yaml: Must be a map"],
    [["services: { a: { image: a } }", "services: []"], "1.yaml: services has another type"],
    [
      ["services: { a: { ports: [1] } }", "services: { a: { ports: { x: 1 } } }"],
      "1.yaml: services.a.ports has another type",
    ],
    [[`x: &a ${"a".repeat(40_000)}\ny: [${"*a,".repeat(40)}]`], "Together they exceed"],
  ])("that cannot be put together are refused with the file: %#", (texts, problem) => {
    expect(merge(...texts)).toEqual({ problems: [expect.stringContaining(problem)] });
  });

  test.each([
    ["colons of a port", `ports: ["${":".repeat(900_000)}"]`],
    ["open brackets of a port", `ports: ["${"[:".repeat(450_000)}"]`],
    ["slashes of a mount", `volumes: ["a:/x${"/".repeat(900_000)}x"]`],
  ])("are put together in a moment, whatever stands in them: %s", (_, line) => {
    const cost = cpuCost(() => merge("services: { a: { image: a } }", `services: { a: { ${line} } }`));
    expect(cost).toBeLessThan(150);
  });

  test("are put together in a moment, however many subnets they have", () => {
    const file = (name: string) => {
      const entries = Array.from({ length: 1200 }, (_, n) => `      - subnet: 10.${name}.${n}.0\n`).join("");
      return `services: {}\nnetworks:\n  n:\n    ipam:\n      config:\n${entries}`;
    };
    const files = ["1", "2", "3", "4", "5", "6", "7", "1"].map(file);
    const cost = cpuCost(() => {
      const merged = merge(...files);
      expect("text" in merged && merged.text.match(/subnet/g)?.length).toBe(8400);
    });
    expect(cost).toBeLessThan(300);
  });
});
