import { beforeAll, describe, expect, test } from "vitest";
import { type Description, describe as describeApi } from "../openapi.ts";
import { operationsOf, routesOf } from "../rest/routes.ts";
import { appRouter } from "../root.ts";

let description: Description;
beforeAll(async () => {
  description = await describeApi(appRouter);
});

const routes = operationsOf(appRouter).flatMap(routesOf);

interface Content {
  readonly schema: { readonly $ref?: string; readonly items?: { readonly $ref?: string } };
  readonly example?: unknown;
}

/** The named schema's examples are shared by all operations that answer it. */
function exampleIn({ schema, example }: Content): unknown {
  const { $ref } = schema.items ?? schema;
  if ($ref === undefined) return example;
  const { examples } = description.components.schemas[$ref.split("/").at(-1) ?? ""] as { examples?: unknown[] };
  return schema.items === undefined ? examples?.[0] : examples;
}

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))("%s", (_name, route) => {
  const described = () =>
    description.paths[route.path]?.[route.method.toLowerCase()] as unknown as {
      readonly parameters?: readonly { readonly in: string; readonly name: string; readonly example?: unknown }[];
      readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
      readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
    };
  const inPath = () => (described().parameters ?? []).filter((parameter) => parameter.in === "path");

  test("has an example of its request that it accepts", () => {
    expect(inPath().filter(({ example }) => example === undefined)).toEqual([]);
    const json = described().requestBody?.content["application/json"];
    if (json === undefined) return;
    expect(Object.keys(json.example as object).length).toBeGreaterThan(0);
    const keyOf = (name: string) => route.operation.options.pathKeys?.[name] ?? name;
    const path = Object.fromEntries(inPath().map(({ name, example }) => [keyOf(name), example]));
    const query = Object.fromEntries(route.queryKeys.map(({ key }) => [key, undefined]));
    const { error } = route.operation.input?.safeParse({ ...query, ...path, ...(json.example as object) }) ?? {};
    expect(error?.issues ?? []).toEqual([]);
  });

  test("has an example of its answer that is as it answers", () => {
    const { status = 200 } = route.operation.options;
    const json = described().responses[status]?.content?.["application/json"];
    if (json === undefined) return;
    const answer = exampleIn(json);
    expect(answer).toBeDefined();
    expect(route.operation.output?.safeParse(answer).error?.issues ?? []).toEqual([]);
  });
});
