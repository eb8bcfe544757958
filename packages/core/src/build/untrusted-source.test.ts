import { expect, test } from "vitest";
import { isMoment } from "../testing.ts";
import { refusal } from "./plan.fixture.ts";

/** What is read of one file at most, see `readFacts`. */
const LENGTH = 64 << 10;
const filled = (piece: string): string => piece.repeat(Math.ceil(LENGTH / piece.length)).slice(0, LENGTH);

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

test.each(FILES)("whatever is in %s, a plan holds up nobody", (name) => {
  for (const text of [...PIECES.map(filled), `web: a${filled(" ")}b`, `gem${filled(" ")}`]) {
    expect(
      isMoment(() => refusal({ files: { [name]: text } })),
      `${name}: ${JSON.stringify(text.slice(0, 12))}`,
    ).toBe(true);
  }
});
