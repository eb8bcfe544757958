import { expect, it } from "vitest";
import { isWritable, textOfVariables, variablesOfText } from "./variables-text.ts";

it("writes values so that they are read again byte for byte", () => {
  const values = [
    "",
    "plain",
    "a b",
    " around ",
    "two\nlines",
    "it's",
    'say "hi"',
    "a#b",
    "a # b",
    "$HOME",
    "{{ team.X }}",
  ];
  const variables = values.map((value, index) => ({ key: `K${index}`, value }));
  expect(variables.filter((variable) => !isWritable(variable))).toEqual([]);
  expect(variablesOfText(textOfVariables(variables)).entries).toEqual(variables);
});

it("says which line it does not understand", () => {
  expect(variablesOfText("A=1\n# fine\nwhat is this").wrong).toContain("Line 3");
});
