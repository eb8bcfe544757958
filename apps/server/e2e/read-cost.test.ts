import { afterAll, beforeAll, expect, test } from "vitest";
import { createApplication, placeOf, plainServer, temporaryRepository } from "./applications.fixture.ts";
import { type CountedServer, countedServer } from "./counted-server.fixture.ts";

/** Statements for one request, its token's included, and bytes of its answer with one application. */
const BUDGETS: Readonly<Record<string, readonly [statements: number, bytes: number]>> = {
  "/version": [2, 14],
  "/teams/current": [2, 240],
  "/projects": [2, 83],
  "/projects/PROJECT": [3, 400],
  "/projects/PROJECT/environments": [3, 64],
  "/projects/PROJECT/production": [7, 3650],
  "/servers": [2, 2320],
  "/servers/SERVER": [2, 2320],
  "/servers/SERVER/resources": [3, 230],
  "/resources": [4, 3340],
  "/applications": [3, 3310],
  "/applications/APPLICATION": [3, 4400],
  "/applications/APPLICATION/envs": [3, 2],
  "/applications/APPLICATION/storages": [3, 45],
  "/deployments": [2, 2],
  "/deployments/applications/APPLICATION": [3, 28],
  "/databases": [2, 2],
  "/services": [2, 2],
  "/security/keys": [2, 2],
  "/github-apps": [2, 2],
};
/** Names and addresses differ in length between machines. */
const BYTES_SPARE = 0.2;
/** A look of the background may come between: the smallest count is the request's own. */
const ROUNDS = 5;

const repository = temporaryRepository(plainServer("1"));
const uuids = new Map<string, string>();
let counting: CountedServer;
beforeAll(async () => {
  counting = await countedServer();
  const { server } = counting;
  const { uuid } = await createApplication(server, repository, {
    name: "measured",
    domains: "http://measured.localhost",
  });
  const place = await placeOf(server);
  for (const [name, value] of [
    ["APPLICATION", uuid],
    ["PROJECT", place.project_uuid],
    ["SERVER", place.server_uuid],
  ] as const)
    uuids.set(name, value);
});
afterAll(async () => {
  await counting?.dispose();
  repository.dispose();
});

test.each(Object.entries(BUDGETS))("GET %s stays within its budget", async (path, [statementsMax, bytesMax]) => {
  const { server, counted } = counting;
  const asked = path.replace(/[A-Z]{3,}/g, (name) => uuids.get(name) ?? name);
  const answers: { readonly statements: number; readonly bytes: number }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    counted.taken();
    const response = await fetch(`${server.url}/api/v1${asked}`, {
      headers: { authorization: `Bearer ${server.token}` },
    });
    const bytes = (await response.arrayBuffer()).byteLength;
    expect(response.status).toBe(200);
    answers.push({ statements: counted.taken().flatMap((one) => one.statements).length, bytes });
  }
  const statements = Math.min(...answers.map((answer) => answer.statements));
  const bytes = Math.min(...answers.map((answer) => answer.bytes));
  expect(statements, "Above the budget of statements, or below one to be lowered.").toBe(statementsMax);
  expect(bytes, "bytes").toBeLessThanOrEqual(bytesMax);
  expect(bytes, "Lower the budget of bytes.").toBeGreaterThan(bytesMax * (1 - BYTES_SPARE));
});
