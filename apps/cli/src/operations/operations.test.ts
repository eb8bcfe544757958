import { Command } from "commander";
import { describe, expect, test } from "vitest";
import type { Output } from "../output.ts";
import { showAnswer } from "./answer.ts";
import { addOperations } from "./commands.ts";
import { operations, wordsOf } from "./description.ts";

const all = operations();

/** A program without handwritten commands. */
function programOf(): Command {
  const program = new Command("berth");
  for (const group of new Set(all.map(({ words: [first = ""] }) => first))) {
    addOperations(program.command(group), all, () => async () => {});
  }
  return program;
}

const reached = (program: Command, words: readonly string[]) =>
  words.reduce<Command | undefined>((parent, word) => parent?.commands.find((each) => each.name() === word), program);

describe("the commands made from the API's description", () => {
  test("are one for each operation, none hiding another", () => {
    const names = all.map(({ words }) => words.join(" "));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    expect(names.length).toBeGreaterThan(40);
  });

  test.each(all.map((operation) => [operation.words.join(" "), operation] as const))("berth %s", (_, operation) => {
    const command = reached(programOf(), operation.words);
    expect(command?.registeredArguments.map((argument) => argument.name())).toEqual(
      operation.pathParameters.map(({ name }) => name.replaceAll("_", "-")),
    );
    const flags = command?.options.map(({ long }) => long) ?? [];
    for (const { name } of [...operation.queryFlags, ...operation.bodyFlags]) expect(flags).toContain(`--${name}`);
    expect(command?.description()).toContain(operation.summary);
  });

  test.each([
    ["applications.envs.updateBulk", "applications envs update-bulk"],
    ["applications.createPublic", "applications create public"],
    ["projects.list", "projects list"],
    ["health", "health"],
  ])("%s is %s", (name, words) => {
    expect(wordsOf(name).join(" ")).toBe(words);
  });
});

describe("an answer as people read it", () => {
  const shown = (answer: unknown) => {
    const seen: unknown[] = [];
    const output = {
      show: (_: unknown, forPeople: () => void) => forPeople(),
      line: (text: string) => seen.push(text),
      table: (head: unknown, rows: unknown) => seen.push(head, rows),
      details: (pairs: unknown) => seen.push(pairs),
    };
    // Only these four methods are used.
    showAnswer(output as unknown as Output, answer);
    return seen;
  };

  test("of an object has what it holds below each other, and lists as tables under their names", () => {
    const answer = { name: "docker", settings: { builds: 2, zone: null, more: { x: [1] } }, hosts: [{ uuid: "a" }] };
    expect(shown(answer)).toEqual([
      [
        ["name", "docker"],
        ["settings.builds", "2"],
        ["settings.more.x", "1"],
      ],
      "\nhosts",
      ["UUID"],
      [["a"]],
    ]);
    expect(shown({ details: [{ uuid: "a" }] })).toEqual(["details", ["UUID"], [["a"]]]);
  });

  test("has the URLs of a compose application one container a line, and a list of texts without its brackets", () => {
    const docker_compose_domains = JSON.stringify({
      web: { domain: "https://a.example,https://b.example" },
      "api\u001b[2J": { domain: "https://c.example" },
      db: { domain: "" },
    });
    expect(shown({ name: "shop", docker_compose_domains, urls: ["https://a.example", "https://b.example"] })).toEqual([
      [
        ["name", "shop"],
        ["url of web", "https://a.example https://b.example"],
        ["url of api", "https://c.example"],
        ["urls", "https://a.example, https://b.example"],
      ],
    ]);
    expect(shown({ docker_compose_domains: "none" })).toEqual([[["docker_compose_domains", "none"]]]);
  });

  test("keeps the lines of a text that has several, below the rest", () => {
    const answer = {
      name: "shop",
      docker_compose: "services:\n  web:\n    image: \u001b[2Jnginx\n",
      status: "running",
    };
    expect(shown(answer)).toEqual([
      [
        ["name", "shop"],
        ["status", "running"],
      ],
      "\ndocker compose",
      "  services:",
      "    web:",
      "      image: nginx",
    ]);
  });

  test("is a table of what tells most for a list", () => {
    const items = [
      { id: 1, uuid: "a", name: "web", nested: { x: 1 }, note: null, status: "running" },
      { id: 2, uuid: "b", name: "api", nested: null, note: null, status: "" },
    ];
    expect(shown(items)).toEqual([
      ["NAME", "STATUS", "UUID", "ID"],
      [
        ["web", "running", "a", "1"],
        ["api", "-", "b", "2"],
      ],
    ]);
  });

  test("distinguishes the variable of previews from the one of the application", () => {
    const attachment = { database_uuid: "d", database_name: "db", resource_uuid: "r", resource_name: "web" };
    const items = [false, true].map((is_preview) => ({
      ...attachment,
      resource_type: "application",
      key: "A",
      is_preview,
    }));
    expect(shown(items)).toEqual([
      ["KEY", "IS PREVIEW", "DATABASE UUID", "DATABASE NAME", "RESOURCE UUID", "RESOURCE NAME"],
      [
        ["A", "false", "d", "db", "r", "web"],
        ["A", "true", "d", "db", "r", "web"],
      ],
    ]);
  });

  test("is the sentence of a message, pairs of an object, and a word for nothing", () => {
    expect(shown({ message: "Done so." })).toEqual(["Done so."]);
    expect(shown({ uuid: "a", urls: ["b"], none: null, tags: [] })).toEqual([
      [
        ["uuid", "a"],
        ["urls", "b"],
      ],
    ]);
    expect([shown([]), shown(undefined), shown("OK")]).toEqual([["None."], ["Done."], ["OK"]]);
  });

  test("leaves keys out of a table, and cuts what is long", () => {
    const key = "-----BEGIN KEY-----\nabc\n-----END KEY-----";
    expect(shown([{ name: "k", private_key: key, public_key: "x".repeat(200) }])).toEqual([
      ["NAME", "PUBLIC KEY"],
      [["k", `${"x".repeat(79)}…`]],
    ]);
  });

  test("holds nothing that moves the cursor", () => {
    expect(shown([{ name: "a\u001b[2Jb\u0007" }])).toEqual([["NAME"], [["ab"]]]);
  });
});
