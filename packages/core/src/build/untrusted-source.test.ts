import { expect, test } from "vitest";
import { isMoment } from "../testing.ts";
import { refusal } from "./plan.fixture.ts";

/** What is read of one file at most, see `readFacts`, less what tells that it was read to its end. */
const LENGTH = (64 << 10) - 16;
const filled = (piece: string, end = ""): string =>
  `${piece.repeat(Math.ceil(LENGTH / piece.length)).slice(0, LENGTH - end.length)}${end}`;

const PIECES = [
  "\n",
  " ",
  " \n",
  "a",
  "(",
  "gem ",
  "gem(",
  "app:",
  '"tasks":{',
  "{ :",
  "ruby ",
  "a.b = [",
  "web: a ",
  "x = ",
  "# ",
];
const FILES = [
  ...["mix.exs", ".elixir-version", "Gemfile", ".ruby-version", "pyproject.toml", "requirements.txt", "main.py"],
  ...["deno.json", "Procfile", "go.mod", "Cargo.toml", "pom.xml", "build.gradle", "composer.json", "pnpm-lock.yaml"],
  ...[".yarnrc.yml", "next.config.js"],
];

/** What is read before a decision on early installation, beside other files. */
test.each<Readonly<Record<string, string>>>([
  { "main.py": "", "requirements.txt": filled(" #", "\rx") },
  { "main.py": "", "requirements.txt": `a${filled(" ", "x\u2028x")}` },
  { "main.py": "", "uv.lock": "", "pyproject.toml": filled("\n") },
  { "package.json": '{"dependencies":{"a":"1"},"scripts":{"start":"a"}}', "pnpm-workspace.yaml": filled("\n") },
])("a plan that may install early holds up nobody: %j", (files) => {
  expect(isMoment(() => refusal({ files }))).toBe(true);
});

test.each([
  ["package.json", (deep: string) => `{"scripts":{"start":"a"},"dependencies":{"a":${deep}}}`],
  ["composer.json", (deep: string) => `{"repositories":${deep}}`],
])("however deep %s is, it is planned or refused", (name, manifest) => {
  const text = manifest("[".repeat(30_000) + "]".repeat(30_000));
  expect(refusal({ files: { "index.php": "", [name]: text } })).toMatch(/^(planned|deploy\.)/);
});

test.each(FILES)("whatever is in %s, a plan holds up nobody", (name) => {
  for (const text of [...PIECES.map((piece) => filled(piece)), `web: a${filled(" ")}b`, `gem${filled(" ")}`]) {
    expect(
      isMoment(() => refusal({ files: { [name]: text } })),
      `${name}: ${JSON.stringify(text.slice(0, 12))}`,
    ).toBe(true);
  }
});
