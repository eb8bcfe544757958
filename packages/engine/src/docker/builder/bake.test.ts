import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BakeTarget, bakeArgv, bakeOf } from "./bake.ts";

const TARGET: BakeTarget = {
  context: "/src",
  dockerfile: "/job/Dockerfile",
  target: null,
  image: "berth/a:b",
  labels: { "berth.managed": "true" },
  args: {},
  secrets: {},
  secretFiles: {},
  isForced: false,
};

describe("what buildx is given", () => {
  test("is a definition that refers to values of the environment", () => {
    const { definition, env } = bakeOf({
      ...TARGET,
      target: "one",
      args: { A: "x" },
      secrets: { A: "x" },
      secretFiles: { f: "/job/env" },
      isForced: true,
    });
    const value = (text: string) => Object.entries(env).find(([, known]) => known === text)?.[0] ?? "";
    expect(JSON.parse(definition).services.app.build).toEqual({
      context: `\${${value("/src")}}`,
      dockerfile: `\${${value("/job/Dockerfile")}}`,
      target: `\${${value("one")}}`,
      labels: { "berth.managed": `\${${value("true")}}` },
      args: { A: `\${${value("x")}}` },
      "x-bake": {
        tags: [`\${${value("berth/a:b")}}`],
        secret: [`id=A,env=${value("x")}`, `id=f,src=\${${value("/job/env")}}`],
        output: ["type=docker"],
        "no-cache": true,
      },
    });
  });

  test("never holds a text of a user, as a name of the environment or in the definition", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.string({ minLength: 1 })),
        fc.string({ minLength: 9 }),
        (args, target) => {
          const { definition, env } = bakeOf({ ...TARGET, args, secrets: args, target });
          for (const name of Object.keys(env)) expect(name).toMatch(/^BERTH_VALUE_\d+$/);
          const strings: string[] = [];
          JSON.parse(definition, (_key, value: unknown) => {
            if (typeof value === "string") strings.push(value);
            return value;
          });
          for (const text of strings)
            expect(text).toMatch(/^(\$\{BERTH_VALUE_\d+\}|id=[A-Za-z_][\w.-]*,env=BERTH_VALUE_\d+|type=docker|)$/);
        },
      ),
    );
  });

  test("is told by arguments that are the same for every build", () => {
    expect(bakeArgv({ definition: "/j/bake.yaml", metadata: "/j/m.json" }).join(" ")).toBe(
      "docker buildx --builder default bake --progress rawjson --metadata-file /j/m.json --file /j/bake.yaml app",
    );
  });
});
