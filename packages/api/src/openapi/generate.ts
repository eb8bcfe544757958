import { generateOpenApiDocument, type OpenAPIObject } from "trpc-to-openapi";
import { z } from "zod";
import type { InputKey, Route } from "../rest/routes.ts";

type Shape = Record<string, z.ZodType>;

/** The parts of a route that are generated from zod schemas. */
export interface GeneratedParts {
  readonly parameters?: readonly unknown[];
  /** Schema of the JSON body. */
  readonly body?: unknown;
  /** Schema of the answer, or of an event's data. */
  readonly answer?: unknown;
}

/**
 * Converts zod schemas with trpc-to-openapi. It gets a separate router, with a query for each route's parameters and
 * answer and a mutation for its body, each under its own path: the generator supports neither query parameters beside
 * a body, nor several paths of an operation, nor streams.
 */
export function generate(routes: readonly Route[]): {
  readonly parts: readonly GeneratedParts[];
  readonly schemas: Readonly<Record<string, unknown>>;
} {
  const procedures: Record<string, unknown> = {};
  for (const [index, route] of routes.entries()) {
    const { operation, pathKeys, queryKeys, body } = route;
    // The shape of a strict object contains zod schemas; its type is less exact.
    const shape = (operation.input?.shape ?? {}) as Shape;
    const inPath = pick(shape, pathKeys);
    const path = pathKeys.map(({ key }) => `/{${key}}`).join("");
    const answer = operation.options.events ?? operation.output ?? z.undefined();
    const name = `${route.method} ${route.path} (${operation.name})`;
    procedures[name] = procedure("query", `/${index}${path}`, { ...inPath, ...pick(shape, queryKeys) }, answer);
    if (body !== "required" && body !== "optional") continue;
    const others = Object.entries(shape).filter(([key]) => ![...pathKeys, ...queryKeys].some((url) => url.key === key));
    const whole = { ...inPath, ...Object.fromEntries(others) };
    procedures[`${name}, body`] = procedure("mutation", `/${index}${path}`, whole, z.undefined());
  }
  // The generator only reads the flattened procedures of a router, with the fields that `procedure` sets.
  const router = { _def: { procedures } } as unknown as Parameters<typeof generateOpenApiDocument>[0];
  const { paths, components } = generateOpenApiDocument(router, { title: "", version: "", baseUrl: "" });
  return {
    parts: routes.map((route, index) => partsOf(route, index, paths)),
    schemas: ours(components?.schemas ?? {}),
  };
}

function procedure(type: "query" | "mutation", path: string, shape: Shape, output: z.ZodType) {
  const method = type === "query" ? "GET" : "POST";
  const inputs = Object.keys(shape).length > 0 ? [z.strictObject(shape)] : [];
  return { _def: { type, inputs, output, meta: { openapi: { method, path, errorResponses: [] } } } };
}

const pick = (shape: Shape, keys: readonly InputKey[]): Shape =>
  Object.fromEntries(keys.flatMap(({ key }) => (shape[key] ? [[key, shape[key]]] : [])));

function partsOf({ pathKeys, operation }: Route, index: number, paths: OpenAPIObject["paths"]): GeneratedParts {
  const { get, post } = paths?.[`/${index}${pathKeys.map(({ key }) => `/{${key}}`).join("")}`] ?? {};
  const parameters = get?.parameters?.map((parameter) => {
    if (!("in" in parameter)) return parameter;
    const inPath = parameter.in === "path" && pathKeys.find(({ key }) => key === parameter.name);
    // The generator drops the description of an optional schema.
    const { description, deprecated } = (operation.input?.shape as Shape | undefined)?.[parameter.name]?.meta() ?? {};
    const about = { ...(description && { description }), ...(deprecated && { deprecated }) };
    return { ...parameter, ...about, ...(inPath && { name: inPath.name }) };
  });
  return { parameters: parameters ?? [], body: schemaOf(post?.requestBody), answer: schemaOf(get?.responses?.["200"]) };
}

/** The generator's types are wider: it returns a schema in this form, or nothing. */
function schemaOf(holder: unknown): unknown {
  const { content } = (holder ?? {}) as { content?: Record<string, { schema?: unknown }> };
  return content?.["application/json"]?.schema;
}

/** Without the error bodies that the generator adds. */
const ours = (schemas: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith("error.")));
