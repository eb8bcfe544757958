import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  appRouter,
  asRootTeam,
  exampleBody,
  fillLargely,
  largestInput,
  madeObjects,
  type Objects,
  operationsOf,
  pathOf,
  type Route,
  routesOf,
  type Served,
  served,
} from "@berth/api/testing";
import { describeLarge } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type TestServer, testServer } from "./server.fixture.ts";

const AT_ONCE = 10;
/** As large as the server accepts a JSON body. */
const BODY_BYTES = 1_048_576;
/** Addresses are cut off beyond it. */
const QUERY_CHARACTERS = 8_000;

/** Deletions come late, since later operations would miss their objects; switching the API off comes last. */
const orderOf = ({ method, operation }: Route) =>
  Number(method === "DELETE") + 2 * Number(operation.options.evenWhenDisabled === true);

const routes = operationsOf(appRouter)
  .flatMap(routesOf)
  .filter(({ isTwin }) => !isTwin)
  .sort((a, b) => orderOf(a) - orderOf(b))
  .map((route) => [`${route.method} ${route.path}`, route] as const);

/** With the heap that `npm start` gives the server, and a worker that runs what is asked for. */
describeLarge(`an operation that is asked ${AT_ONCE} times at once about the largest objects`, () => {
  let seed: Served;
  let objects: Objects;
  let server: TestServer;
  let pid: number;
  beforeAll(async () => {
    seed = await asRootTeam(await served());
    objects = await madeObjects(seed);
    await fillLargely(seed, objects);
    await seed.app.close();
    const dataFolder = mkdtempSync(join(tmpdir(), "berth-"));
    // The server of the objects is its own machine.
    writeFileSync(join(dataFolder, "server.json"), JSON.stringify({ uuid: seed.where.server_uuid }));
    writeFileSync(join(dataFolder, "secret.key"), `${TEST_KEY}\n`, { mode: 0o600 });
    const preload = `--import=${new URL("offline.fixture.ts", import.meta.url)}`;
    server = await testServer({ dataFolder, env: { BERTH_DATABASE_URL: seed.db.url, NODE_OPTIONS: preload } });
    pid = server.pid();
  });
  afterAll(async () => {
    await server?.dispose();
    await seed?.db.close();
  });

  test.each(routes)("%s leaves the process alive", async (_, route) => {
    const path = pathOf(route, objects);
    const bodies = bodiesFor(route);
    const answers = Array.from({ length: AT_ONCE }, (_, n) =>
      ask(route, `/api/v1${path}${n % 2 === 0 ? "" : largestQuery(route)}`, bodies[n % bodies.length]),
    );
    if (route.operation.procedure._def.type === "query") answers.push(ask(route, batchOf(route, path), undefined));
    const ended = await Promise.allSettled(answers);
    const health = await fetch(`${server.url}/api/health`).catch((cause: unknown) => cause);
    expect(health, server.output().slice(-2000)).toMatchObject({ status: 200 });
    // On a busy machine a client may be cut off that was not served for a minute: that is not an end of the process.
    expect(ended.flatMap((one) => (one.status === "fulfilled" ? (one.value ?? []) : []))).toEqual([]);
  });

  test("it is the same process at the end", () => {
    expect(() => process.kill(pid, 0)).not.toThrow();
    expect(server.output()).not.toMatch(/heap out of memory|unhandled/i);
  });

  function bodiesFor(route: Route): readonly (string | undefined)[] {
    if (route.body === "none") return [undefined];
    if (route.body === "upload") return ["x".repeat(BODY_BYTES)];
    const example = exampleBody(seed, route.operation);
    const elsewhere = new Set([...route.pathKeys, ...route.queryKeys].map(({ key }) => key));
    const keys = Object.keys(route.operation.input?.shape ?? {}).filter((key) => !elsewhere.has(key));
    const room = BODY_BYTES - 1000;
    const all = largestInput(route.operation, { ...example }, room, keys);
    const single = keys.map((key) => largestInput(route.operation, { ...example }, room, [key]));
    // An operation with one key has the same body twice.
    const texts = new Set([all, ...single].map((body) => JSON.stringify(body)));
    const largest = [...texts].sort((a, b) => b.length - a.length);
    return [...largest.slice(0, AT_ONCE - 3), JSON.stringify(example), nested("["), nested('{"a":')];
  }

  /**
   * The answer is read and not kept; of a stream only the head is read.
   * @returns The answer if it reports a bug of Berth.
   */
  async function ask(
    { method, operation, body: kind }: Route,
    path: string,
    body: string | undefined,
  ): Promise<string | undefined> {
    const type = kind === "upload" ? "application/gzip" : "application/json";
    const headers = { authorization: `Bearer ${seed.token}`, ...(body === undefined ? {} : { "content-type": type }) };
    const response = await fetch(`${server.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });
    if (response.status === 500) {
      const text = await response.text();
      return text.includes("internal.error") ? text : undefined;
    }
    if (operation.options.events === undefined) for await (const _ of response.body ?? []);
    else await response.body?.cancel();
  }
});

/** Of `testCipher`, which sealed the objects. */
const TEST_KEY = Buffer.alloc(32, 7).toString("base64");

const nested = (opening: string): string => opening.repeat(Math.floor(BODY_BYTES / opening.length));

function largestQuery({ operation, queryKeys }: Route): string {
  const keys = queryKeys.map(({ key }) => key);
  const input = largestInput(operation, {}, QUERY_CHARACTERS, keys);
  const query = new URLSearchParams();
  for (const { name, key } of queryKeys) if (key in input) query.append(name, String(input[key]));
  return query.size > 0 ? `?${query}` : "";
}

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
