import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { largeObjects } from "./large-objects.fixture.ts";
import { exampleBody, pathOf } from "./objects.fixture.ts";
import { operationsOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

const AT_ONCE = 10;
/** As large as the server accepts a JSON body. */
const BODY_BYTES = 1_048_576;

/** Deletions come late, since later operations would miss their objects; switching the API off comes last. */
const orderOf = ({ method, operation }: Route) =>
  Number(method === "DELETE") + 2 * Number(operation.options.evenWhenDisabled === true);

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ isTwin }) => !isTwin)
  .sort((a, b) => orderOf(a) - orderOf(b))
  .map((route) => [`${route.method} ${route.path}`, route] as const);

/** With the heap that `npm start` gives the server. */
describe(`an operation that is asked ${AT_ONCE} times at once about the largest objects`, () => {
  let api: Awaited<ReturnType<typeof largeObjects>>;
  beforeAll(async () => {
    api = await largeObjects();
  }, 240_000);
  afterAll(() => api?.close());

  test.each(routes)(
    "%s leaves the process alive",
    async (_, route) => {
      const path = pathOf(route, api.objects);
      const bodies = bodiesFor(route);
      const answers = Array.from({ length: AT_ONCE }, (_, n) =>
        ask(route, `/api/v1${path}`, bodies[n % bodies.length]),
      );
      if (route.operation.procedure._def.type === "query") answers.push(ask(route, batchOf(route, path), undefined));
      const statuses = await Promise.allSettled(answers);
      expect(api.isRunning(), api.output().slice(-2000)).toBe(true);
      // On a busy machine a client may be cut off that was not served for a minute: that is no end of the process.
      expect(statuses.filter((one) => one.status === "fulfilled" && one.value === 500)).toEqual([]);
    },
    60_000,
  );

  function bodiesFor(route: Route): readonly (string | undefined)[] {
    if (route.body === "none") return [undefined];
    if (route.body === "upload") return ["x".repeat(BODY_BYTES)];
    const base = exampleBody(api, route.operation);
    return [JSON.stringify(base), nested("["), nested('{"a":'), ...largestOf(route, base)];
  }

  /** The answer is read and not kept; of a stream only the head is read. */
  async function ask({ method, operation, body: kind }: Route, path: string, body: string | undefined) {
    const type = kind === "upload" ? "application/gzip" : "application/json";
    const headers = { authorization: `Bearer ${api.token}`, ...(body === undefined ? {} : { "content-type": type }) };
    const response = await fetch(`${api.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    if (operation.options.events === undefined) for await (const _ of response.body ?? []);
    else await response.body?.cancel();
    return response.status;
  }
});

/** The same call ten times in one request of tRPC. */
function batchOf({ operation, pathKeys, path: template }: Route, path: string): string {
  const parts = path.split("/");
  const input = Object.fromEntries(
    pathKeys.map(({ name, key, coerce }) => [key, coerce(parts[template.split("/").indexOf(`{${name}}`)] ?? "")]),
  );
  const inputs = Object.fromEntries(Array.from({ length: AT_ONCE }, (_, n) => [n, input]));
  const names = Array.from({ length: AT_ONCE }, () => operation.name).join(",");
  return `/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
}

const nested = (opening: string): string => opening.repeat(Math.floor(BODY_BYTES / opening.length));

/** The largest fields first, each as long as its schema or the body allows, beside a body that is valid otherwise. */
function largestOf({ operation, pathKeys, queryKeys }: Route, base: object): readonly string[] {
  const elsewhere = new Set([...pathKeys, ...queryKeys].map(({ key }) => key));
  const room = BODY_BYTES - JSON.stringify(base).length - 1000;
  return Object.entries(operation.input?.shape ?? {})
    .filter(([key]) => !elsewhere.has(key))
    .map(([key, schema]) => JSON.stringify({ ...base, [key]: largest(schema, (base as Fields)[key], room) }))
    .sort((a, b) => b.length - a.length)
    .slice(0, AT_ONCE - 3);
}
type Fields = Readonly<Record<string, unknown>>;

function largest(schema: unknown, example: unknown, room: number): unknown {
  const { type, maxLength = BODY_BYTES, items } = z.toJSONSchema(schema as z.ZodType, TOLERANT) as Described;
  if (Array.isArray(example) || type === "array" || items !== undefined) {
    const item = Array.isArray(example) ? example[0] : "x";
    return Array.from({ length: Math.floor(room / (JSON.stringify(item).length + 1)) }, () => item);
  }
  return "x".repeat(Math.min(maxLength, room));
}
interface Described {
  readonly type?: string;
  readonly maxLength?: number;
  readonly items?: unknown;
}
const TOLERANT = { unrepresentable: "any", io: "input" } as const;
