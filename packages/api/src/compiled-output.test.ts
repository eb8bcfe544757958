import { Application } from "@berth/core/application";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ZodType, z } from "zod";
import { compiledOutput } from "./compiled-output.ts";
import { appRouter } from "./root.ts";

/** Schemas of which some are compiled, and some are left to zod. */
const schemas: fc.Arbitrary<ZodType> = fc.letrec<{ schema: ZodType }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<ZodType>(
      z.string(),
      z.number(),
      z.int(),
      z.boolean(),
      z.null(),
      z.unknown(),
      z.enum(["a", "b"]),
      z.literal("a"),
      z.literal([true, 1]),
      z.string().max(3),
      z.iso.datetime(),
      z.string().default("c"),
      z.record(z.string(), z.unknown()),
      z.union([z.string(), z.object({ a: z.int() })]),
    ),
    tie("schema").map((inner) => inner.nullable()),
    tie("schema").map((inner) => z.array(inner)),
    fc
      .dictionary(fc.constantFrom("a", "b", "c", "a b", "constructor"), fc.tuple(tie("schema"), fc.boolean()))
      .chain((shape) => {
        const fields = Object.entries(shape).map(([key, [inner, isOptional]]) => [
          key,
          isOptional ? inner.optional() : inner,
        ]);
        return fc.constantFrom<ZodType>(
          z.object(Object.fromEntries(fields)),
          z.strictObject(Object.fromEntries(fields)),
        );
      }),
  ),
})).schema;

const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "medium", withCrossShrink: true },
    fc.constantFrom<unknown>("a", "b", "long text", "", 1, 1.5, -0, Number.NaN, 2 ** 60, true, false, null, undefined),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "a b", "constructor", "extra"), tie("value")),
  ),
})).value;

const textOr = (refusal: string, read: () => unknown) => {
  try {
    return JSON.stringify(read());
  } catch (error) {
    return error instanceof z.ZodError ? error.message : refusal;
  }
};

describe("a compiled check", () => {
  test("answers the text that zod answers, and its error", () => {
    fc.assert(
      fc.property(schemas, values, (schema, value) => {
        const compiled = compiledOutput(schema);
        expect(textOr("other", () => compiled(value).data)).toBe(textOr("other", () => schema.parse(value)));
      }),
      { numRuns: 500 },
    );
  });

  test("fills in the default of what may be absent, as zod does", () => {
    const schema = z.object({ a: z.string().default("c").optional() });
    expect(compiledOutput(schema)({}).data).toEqual(schema.parse({}));
    expect(compiledOutput(schema)({}).data).toEqual({ a: "c" });
  });

  test("leaves out what the schema does not name, and keeps its order", () => {
    const compiled = compiledOutput(z.object({ a: z.string(), b: z.array(z.object({ c: z.int() })) }));
    const { data } = compiled({ secret: 1, b: [{ c: 1, secret: 1 }], a: "x" });
    expect(JSON.stringify(data)).toBe('{"a":"x","b":[{"c":1}]}');
  });

  test("knows the size of what it checked, give or take escapes and short values", () => {
    const compiled = compiledOutput(z.array(z.object({ a: z.string(), b: z.int().nullable() })));
    const value = [
      { a: "x".repeat(5000), b: 1 },
      { a: "", b: null },
    ];
    const { size } = compiled(value);
    expect(Math.abs(size - JSON.stringify(value).length)).toBeLessThan(40);
  });

  test("exists for every operation", () => {
    const operations = Object.values(
      appRouter._def.procedures as unknown as Record<string, { _def: { output?: ZodType } }>,
    );
    for (const { _def } of operations)
      if (_def.output) expect(() => compiledOutput(_def.output as ZodType)({})).not.toThrow(SyntaxError);
    expect(() => compiledOutput(Application)({ uuid: 1 }).data).toThrow(z.ZodError);
  });
});
