import type { SignIns } from "@berth/control";
import { ABILITIES, type Ability } from "@berth/core/team";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { admission } from "./admission.ts";
import { hashOfSecret } from "./auth.ts";
import { browsers } from "./browser.ts";
import { describe as describeApi } from "./openapi.ts";
import { restPlugin } from "./rest/plugin.ts";
import { type ApiOperation, operationsOf, type Route, routesOf } from "./rest/routes.ts";
import { serverOptions } from "./rest/server-options.ts";
import { appRouter } from "./root.ts";
import type { Control } from "./trpc.ts";

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .map((route) => [`${route.method} ${route.path}`, route] as const);
const scoped = routes.filter(([, { operation }]) => operation.options.ability !== null);
const withBody = scoped.filter(([, { method, body }]) => method !== "GET" && body !== "upload");

/** Rules for every operation that apply before its use case, which none of these requests reaches. */
describe("every operation", () => {
  let app: FastifyInstance;
  let documented: (route: Route, status: number) => boolean;
  const reached: string[] = [];

  beforeAll(async () => {
    app = Fastify({ ...serverOptions });
    app.register(restPlugin, {
      ...{ prefix: "/api/v1", router: appRouter, bodyLimit: 1_048_576, pingSeconds: 15, docsUrl: "/docs" },
      admission: admission({ authenticator, requestsPerMinute: 0, now: () => new Date() }),
      controlFor: () => unreachable(reached),
      limitReads: (_bytes, work) => work(),
      browsers: browsers(null),
      signIns: new Proxy({}, { get: (_, name) => void reached.push(String(name)) }) as SignIns,
      onFault: () => undefined,
    });
    await app.ready();
    const { paths } = await describeApi(appRouter);
    documented = ({ path, method }, status) => String(status) in (paths[path]?.[method.toLowerCase()]?.responses ?? {});
  });
  afterAll(() => app.close());

  const ask = async (
    { method, path }: Pick<Route, "method" | "path">,
    { token, query = "", text, type }: { token?: string; query?: string; text?: string; type?: string } = {},
  ) => {
    const response = await app.inject({
      method,
      url: `/api/v1${path.replaceAll(/\{\w+\}/g, "x1")}${query}`,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(type === undefined ? {} : { "content-type": type }),
      },
      ...(text === undefined ? {} : { payload: text }),
    });
    return { status: response.statusCode, json: JSON.parse(response.body || "null"), headers: response.headers };
  };

  it.each(scoped)("%s refuses who has no token", async (_, route) => {
    const { status, json } = await ask(route);
    expect([status, json.message, documented(route, status)]).toEqual([401, "Unauthenticated.", true]);
  });

  it.each(scoped)("%s refuses every token without its ability", async (_, route) => {
    const needed = route.operation.options.ability;
    for (const ability of ABILITIES.filter((other) => other !== needed && other !== "root")) {
      const { status, json } = await ask(route, { token: ability });
      expect([status, json.message]).toEqual([403, `Missing required permissions: ${needed}`]);
    }
    expect(documented(route, 403)).toBe(true);
  });

  // Those that are served by GET too ignore it, see `deployment.test.ts`.
  it.each(routes.filter(([, { method, operation }]) => method !== "GET" && operation.options.alsoByGet !== true))(
    "%s refuses what is unknown in the query",
    async (_, route) => {
      // With a valid body if one is required, so that only the query is wrong.
      const sent = route.body === "required" ? { text: '{"nope":1}', type: "application/json" } : {};
      const { status, json } = await ask(route, { token: "root", query: "?nope=1", ...sent });
      expect([status, json.errors?.nope, documented(route, status)]).toEqual([
        422,
        ["This field is not allowed."],
        true,
      ]);
    },
  );

  it.each(withBody)("%s refuses an unknown field", async (_, route) => {
    const { status, json } = await ask(route, { token: "root", text: '{"nope":1}', type: "application/json" });
    expect([status, json.errors?.nope, documented(route, status)]).toEqual([422, ["This field is not allowed."], true]);
  });

  it.each(withBody)("%s refuses a body that is no JSON", async (_, route) => {
    for (const [text, type] of [
      ["{", "application/json"],
      ["[1]", "application/json"],
      ["a=b", "application/x-www-form-urlencoded"],
    ] as const) {
      const { status, json } = await ask(route, { token: "root", text, type });
      expect([status, json.code, documented(route, status)]).toEqual([400, "request.malformed", true]);
    }
  });

  it.each(routes)("%s tells apart a wrong method", async (_, { path }) => {
    const served = new Set(routes.filter(([, other]) => other.path === path).map(([, other]) => other.method));
    for (const method of (["PUT", "PATCH", "DELETE"] as const).filter((other) => !served.has(other))) {
      const { status, headers } = await ask({ method, path }, { token: "nobody" });
      // The path may match another operation with a parameter in place of a word.
      if (status === 401) continue;
      expect([status, String(headers.allow).split(", ")]).toEqual([404, expect.arrayContaining([...served])]);
    }
  });

  it("has said no before a use case was asked", () => {
    expect(reached).toEqual([]);
  });

  it("has a name of its own, and a body that takes only what is documented", async () => {
    const { paths, components } = await describeApi(appRouter);
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    const open = operations.flatMap(({ operationId, requestBody }) =>
      openObjects(requestBody, components).map((path) => `${operationId} ${path}`),
    );
    expect(open).toEqual([]);
  });

  it("says what it answers", () => {
    const silent = operationsOf(appRouter).filter(
      ({ options, output }) => !options.events && !options.download && !isTyped(output),
    );
    expect(silent.map(({ name }) => name)).toEqual([]);
  });
});

const isTyped = (output: ApiOperation["output"]) =>
  output !== undefined && !["any", "unknown"].includes(output.def.type);

/** Paths in a body's schema where unknown fields are allowed. */
function openObjects(node: unknown, components: unknown, path = ""): string[] {
  if (typeof node !== "object" || node === null) return [];
  const { $ref, type, properties, additionalProperties } = node as Record<string, unknown>;
  if (typeof $ref === "string") {
    const [, , group = "", name = ""] = $ref.split("/");
    const target = (components as Record<string, Record<string, unknown>>)[group]?.[name];
    return openObjects(target, components, `${path} -> ${name}`);
  }
  const isOpen = type === "object" && properties !== undefined && additionalProperties !== false;
  return [
    ...(isOpen ? [path] : []),
    ...Object.entries(node).flatMap(([key, value]) => openObjects(value, components, `${path}/${key}`)),
  ];
}

/** Tokens named by their ability. */
const authenticator = {
  async findToken(hash: string) {
    const ability: Ability | undefined = ABILITIES.find((name) => hashOfSecret(name) === hash);
    const owner = {
      user_id: 0,
      role: "owner" as const,
      kind: "api" as const,
      confirmed_at: null,
      lacks_second_factor: false,
    };
    const dates = { expires_at: null, last_used_at: null, created_at: new Date(0) };
    return (
      ability && { id: 1, team_id: 0, name: ability, abilities: [ability], is_api_enabled: true, ...owner, ...dates }
    );
  },
  touchToken() {},
};

const unreachable = (reached: string[]): Control =>
  // Has any use case, to notice requests that reach one.
  new Proxy({}, { get: (_, name) => void reached.push(String(name)) }) as Control;
