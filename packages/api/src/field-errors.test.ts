import { type FieldErrors, NOT_ALLOWED } from "@berth/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { boundedErrors, fieldErrors } from "./field-errors.ts";

const fields = (count: number, name: string, text: string): FieldErrors =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, [text]]));

describe("what is answered of wrong fields", () => {
  test("is all of it, where that is little", () => {
    const few = { ...fields(20, "x", NOT_ALLOWED), ...fields(100, "y", "Must be a text."), _: ["Has too much."] };
    const { _, ...rest } = few;
    expect(boundedErrors(rest)).toEqual(rest);
  });

  test("names 20 unknown fields, and how many more there are", () => {
    const many = { ...fields(100_000, "x", NOT_ALLOWED), name: ["This field is required."] };
    const shown = boundedErrors(many);
    expect(shown.name).toEqual(["This field is required."]);
    expect(shown._).toEqual(["99980 more fields are wrong or not allowed."]);
    expect(Object.keys(shown)).toHaveLength(22);
  });

  test("shortens long names and lists", () => {
    const shown = boundedErrors({ ["x".repeat(100_000)]: Array(1000).fill("Must be a text.") });
    expect(JSON.stringify(shown).length).toBeLessThan(1000);
  });
});

test("a name that is not allowed is answered with the reason", () => {
  const schema = z.object({
    labels: z.record(
      z
        .string()
        .max(5)
        .regex(/^[a-z]+$/, "Must be letters."),
      z.string(),
    ),
  });
  const problemsOf = (name: string) => {
    const input = { labels: { [name]: "a" } };
    const { error } = schema.safeParse(input);
    return error && fieldErrors(error, input);
  };
  expect(problemsOf("a b")).toEqual({ "labels.a b": ["Its name: Must be letters."] });
  expect(problemsOf("abcdef")).toEqual({ "labels.abcdef": ["Its name: Must have at most 5 characters."] });
});
