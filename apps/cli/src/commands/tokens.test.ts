import { expect, test } from "vitest";
import { ranWith } from "../answers.fixture.ts";

const TOKENS = [
  { id: 1, name: "ci" },
  { id: 2, name: "laptop" },
  { id: 3, name: "laptop" },
  { id: 4, name: "1" },
  { id: 5, name: "2024" },
];

test.each<[string, unknown, string]>([
  ["ci", [{ id: 1 }], ""],
  ["3", [{ id: 3 }], ""],
  ["2024", [{ id: 5 }], ""],
  ["1", [], "1 is the number of one token and the name of another.\n  Name that one by its number.\n"],
  ["laptop", [], "2 tokens are called laptop. Name one by its number:\n  2  laptop\n  3  laptop\n"],
  ["cj", [], "No token is called cj. Did you mean ci?\n  1  ci\n"],
])("tokens revoke %s revokes the one token that is meant", async (wanted, revoked, stderr) => {
  const sent: unknown[] = [];
  const answers = {
    "tokens.list": () => TOKENS,
    "tokens.revoke": (input: object) => {
      sent.push(input);
      return { message: "Token revoked." };
    },
  };
  const ran = await ranWith(answers, ["tokens", "revoke", wanted]);
  expect([ran.exitCode, ran.stderr, sent]).toEqual([stderr === "" ? 0 : 2, stderr, revoked]);
});
