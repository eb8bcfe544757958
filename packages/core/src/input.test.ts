import { describe, expect, test } from "vitest";
import { z } from "zod";
import { inputShape, lenient } from "./input.ts";

describe("input of a settings schema", () => {
  const schema = z.strictObject(
    inputShape({
      port: z.int().min(1).nullable().default(null),
      on: z.boolean().default(true),
      name: z.string().default(""),
    }),
  );

  test.each([
    [{}, {}],
    [
      { port: "80", on: 1 },
      { port: 80, on: true },
    ],
    [
      { port: "", on: "0" },
      { port: null, on: false },
    ],
    [
      { port: null, on: null, name: null },
      { port: null, on: null, name: null },
    ],
  ])("reads %j as %j", (sent, expected) => {
    expect(schema.parse(sent)).toEqual(expected);
  });

  test.each([
    [{ port: "eighty" }],
    [{ port: 0 }],
    [{ port: "1.5" }],
    [{ on: "yes" }],
    [{ on: 2 }],
    [{ name: 7 }],
    [{ other: 1 }],
  ])("refuses %j", (sent) => {
    expect(schema.safeParse(sent).success).toBe(false);
  });

  test("is described as the plain type", () => {
    expect(z.toJSONSchema(lenient(z.int().min(1).max(9)), { io: "input" })).toMatchObject({ type: "integer" });
  });
});
