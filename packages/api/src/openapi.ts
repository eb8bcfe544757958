import { VERSION } from "@berth/core";
import type { AnyRouter } from "@trpc/server";
import { type ExampleSchemas, exampleOf } from "./openapi/example.ts";
import { headers } from "./openapi/headers.ts";
import { describeOperation, type OperationObject } from "./openapi/operation.ts";
import { responses, schemas } from "./openapi/problems.ts";
import { tidy } from "./openapi/tidy.ts";
import { TAGS } from "./operation-options.ts";
import { operationsOf, routesOf } from "./rest/routes.ts";

export interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
  readonly [key: string]: unknown;
}

/**
 * The OpenAPI document of a router, always the same for the same router. It is generated from the same definitions as
 * the routes, so that they cannot differ. Dependencies are imported on first use, so that a server which is never
 * asked for it needs no memory for them.
 */
export async function describe(router: AnyRouter): Promise<Description> {
  const { generate } = await import("./openapi/generate.ts");
  const routes = operationsOf(router)
    .flatMap(routesOf)
    .sort((a, b) => order(a.path, b.path) || order(a.method, b.method));
  const generated = generate(routes);
  // Made by the generator, so they are schemas.
  const named = generated.schemas as ExampleSchemas;

  const paths: Record<string, Record<string, OperationObject>> = {};
  for (const [index, route] of routes.entries()) {
    const method = route.method.toLowerCase();
    if (paths[route.path]?.[method]) throw new Error(`${route.method} ${route.path} is defined twice.`);
    paths[route.path] = {
      ...paths[route.path],
      [method]: describeOperation(route, generated.parts[index] ?? {}, named),
    };
  }
  const used = new Set<string>(routes.map(({ operation }) => operation.options.tag));
  const written = JSON.stringify(paths);
  const usedResponses = Object.entries(responses).filter(([name]) => written.includes(`responses/${name}"`));
  return tidy({
    openapi: "3.1.0",
    info: {
      title: "Berth",
      version: VERSION,
      description: ABOUT,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/api/v1", description: "The server that returned this document." }],
    security: [{ bearer: [] }],
    tags: Object.entries(TAGS).flatMap(([name, about]) => (used.has(name) ? [{ name, description: about }] : [])),
    paths,
    components: {
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A token: `<id>|<secret>`. Made with `berth tokens create NAME`, or in the dashboard.",
        },
      },
      schemas: { ...schemas, ...withExamples(named) },
      responses: Object.fromEntries(usedResponses),
      headers,
    },
  });
}

const withExamples = (schemas: ExampleSchemas) =>
  Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { ...schema, examples: [exampleOf(schema, schemas)] }]),
  );

/** The description as `openapi.json` at the repository's root and at `/api/v1` holds it. */
export const jsonOf = (description: Description): string => `${JSON.stringify(description, null, 2)}\n`;

/** The same as YAML. For a moment this needs far more memory than JSON. */
export async function yamlOf(description: Description): Promise<string> {
  const { stringify } = await import("./openapi/yaml.ts");
  return stringify(description, { aliasDuplicateObjects: false, lineWidth: 0 });
}

/** By code unit, which is independent of the locale. */
const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const ABOUT = [
  "Berth deploys applications, services and databases on servers of your own.",
  "**Tokens.** Send `Authorization: Bearer <id>|<secret>`. Make one with `berth tokens create NAME --abilities read,write,deploy`, or in the dashboard under Team, Tokens. Each operation names the ability its token needs; none implies another, except `root`, which implies all. What belongs to another team reads as not found.",
  "**Errors.** Every error's body has `message` for people, `code` for programs and `request_id`, which is also in the header `X-Request-Id` and in the server's log; 422 has `errors` by field. Unknown fields and query parameters are refused.",
  "**Lists.** `skip` and `take` select a page. Answers carry `X-Total-Count` and `Link` (RFC 8288).",
  "**Rate limit.** `X-RateLimit-Limit` and `X-RateLimit-Remaining` say where a token stands within the minute. 429 says in `Retry-After` how many seconds to wait.",
].join("\n\n");
