import { contents } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { exampleBody, madeObjects, type Objects, pathOf } from "./objects.fixture.ts";
import { operationsOf, type Route, routesOf } from "./rest/routes.ts";
import { appRouter } from "./root.ts";

/** Sent in every field of every operation. */
const OF_WRONG_TYPE: readonly unknown[] = [null, true, -1, 1.5, "", "a\0b", ["a", 1], [null], { uuid: 1 }, {}];

/** Each field gets some of these; the next field gets the next ones. */
const BREAKING: readonly unknown[] = [
  ...[
    0,
    1e308,
    2 ** 31,
    2 ** 53 + 2,
    " ",
    "1e400",
    "2147483648",
    "99999999999999999999",
    "\ud800",
    "x".repeat(300_000),
  ],
  ...[
    "ﬀ\u202e\u0301".repeat(50),
    "\r\nSet-Cookie: a=b",
    "-rf",
    "--upload-pack=id",
    "../../../../etc/passwd",
    "/etc/passwd",
  ],
  ...["$(id)", "`id`", "'; drop table team; --", "%s%n%x", "{{ team.X }}", "http://127.0.0.1:1/", "http://[::1"],
  ...["file:///etc/passwd", "https://a.b,https://a.b", "!!binary x", "&a [*a,*a]", [[[]]], [{}], { length: 9 }],
  ...[{ toString: null }, false, [], [{ name: 1 }]],
];
const BREAKING_COUNT = 6;

/**
 * @param n Number of the field: each starts with the value after the previous field's last one.
 * @param isFirst If several operations share a field's schema, only the first gets wrong types: they are refused
 * before the operation runs.
 */
const hostileFor = (n: number, isFirst: boolean): readonly unknown[] => [
  ...(isFirst ? OF_WRONG_TYPE : []),
  ...Array.from({ length: BREAKING_COUNT }, (_, i) => BREAKING[(n * BREAKING_COUNT + i) % BREAKING.length]),
];

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ isTwin, operation }) => !isTwin && operation.options.events === undefined)
  // Switching off the API would make all other requests fail.
  .filter(({ operation }) => operation.options.evenWhenDisabled !== true && operation.options.upload === undefined)
  // Deletions come last, since other operations need the objects.
  .sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
  .map((route) => [`${route.method} ${route.path}`, route] as const);

const fieldsOf = ({ operation }: Route): Readonly<Record<string, unknown>> => operation.input?.shape ?? {};

/** The first operation with each schema. */
const firstOf = new Map<unknown, Route["operation"]>();
for (const [, route] of routes) {
  for (const schema of Object.values(fieldsOf(route))) {
    if (!firstOf.has(schema)) firstOf.set(schema, route.operation);
  }
}

describe("an operation that is sent nonsense", () => {
  let api: Served;
  let objects: Objects;
  beforeAll(async () => {
    api = await served();
    objects = await madeObjects(api);
  });
  afterAll(() => api.close());

  /** What the database held after the last operation that wrote nothing: reading all of it takes long. */
  let known: Record<string, string> | undefined;
  test.each(routes)("%s refuses it with what is documented, and writes nothing then", async (_, route) => {
    const before = known ?? (await contentsOf(api));
    known = undefined;
    let isUnchanged = true;
    for (const [path, body] of nonsenseFor(api, route, pathOf(route, objects))) {
      const { status } = await api.ask(route.method, path, body === undefined ? {} : { body });
      expect(status, JSON.stringify([path, body]).slice(0, 200)).toBeLessThan(500);
      if (status < 300) isUnchanged = false;
    }
    expect(api.faults).toEqual([]);
    if (!isUnchanged) return;
    expect(await contentsOf(api)).toEqual(before);
    known = before;
  });
});

function* nonsenseFor(
  api: Served,
  route: Route,
  path: string,
): Generator<readonly [path: string, body: object | undefined]> {
  const { operation, pathKeys, queryKeys } = route;
  const base = exampleBody(api, operation);
  const shape = fieldsOf(route);
  const hostileIn = (n: number, key: string) => hostileFor(n, firstOf.get(shape[key]) === operation);
  for (const [n, { name, key }] of queryKeys.entries()) {
    for (const value of hostileIn(n, key)) {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      // A lone surrogate cannot be encoded in a URL, and URLs have a maximum length.
      if (!text.isWellFormed() || text.length > 10_000) continue;
      yield [`${path}?${name}=${encodeURIComponent(text)}`, route.body === "none" ? undefined : base];
    }
  }
  if (route.body === "none") return;
  const elsewhere = new Set([...pathKeys, ...queryKeys].map(({ key }) => key));
  const fields = Object.keys(shape).filter((key) => !elsewhere.has(key));
  for (const [n, key] of fields.entries()) {
    for (const value of hostileIn(n, key)) yield [path, { ...base, [key]: value }];
  }
}

/** Tokens are only counted, since each use updates them. */
const contentsOf = ({ db }: Served) => contents(db, ["token"]);
