import type { StackArtifact } from "@berth/core/deploy";
import { newEnv } from "@berth/core/env";
import { type TestDatabase, testDatabase, testMagic, testUuid } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { generateVariables } from "./deploy/generated-variables.ts";
import { openWorld, type World } from "./world.fixture.ts";

let database: TestDatabase;
let world: World;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  world = await openWorld(database);
});
afterEach(() => world.close());

const artifact: StackArtifact = {
  type: "stack",
  compose: "services: { db: { image: db, environment: { PASSWORD: $SERVICE_PASSWORD_DB, USER: $SERVICE_USER_DB } } }",
  images: {},
  files: [],
};

async function generated(pull_request_id = 0, own: Readonly<Record<string, string>> = {}) {
  const application = await world.application({ build_pack: "dockercompose" });
  for (const [key, value] of Object.entries(own)) {
    await world.stores.envs.insert(application.id, testUuid(), newEnv({ key, value }));
  }
  const deployment = { ...(await world.deploy(application)), pull_request_id };
  const said: string[] = [];
  const run = async () => {
    const subject = await world.system.resources.subject(application.id);
    if (subject === undefined) throw new Error("The application exists.");
    const { items: envs } = await world.stores.envs.list(application.id);
    const magic = { ...testMagic, secret: (length: number) => "s".repeat(length), uuid: testUuid };
    const say = (line: string) => void said.push(line);
    const clock = { now: () => new Date(0) };
    return await generateVariables({ stores: world.system, subject, deployment, envs, clock, magic, say }, artifact);
  };
  const variables = async () =>
    (await world.stores.envs.list(application.id)).items.map(({ key, value, is_preview }) => [key, value, is_preview]);
  return { run, variables, said };
}

const PASSWORD = "s".repeat(32);

test("a built compose file gets the values that it asks for once, with those of previews", async () => {
  const { run, variables, said } = await generated(0, { SERVICE_USER_DB: "chosen" });
  expect(await run()).toEqual({ ...artifact, variables: { SERVICE_PASSWORD_DB: PASSWORD } });
  const after = [
    ["SERVICE_USER_DB", "chosen", false],
    ["SERVICE_PASSWORD_DB", PASSWORD, false],
    ["SERVICE_PASSWORD_DB", PASSWORD, true],
  ];
  expect(await variables()).toEqual(after);
  expect(said).toEqual(["Generated SERVICE_PASSWORD_DB, variables of the application from now on."]);
  expect(await run()).toEqual(artifact);
  expect(await variables()).toEqual(after);
});

test("that of a preview gets its own alone", async () => {
  const { run, variables } = await generated(7);
  await run();
  expect((await variables()).map(([key, , isPreview]) => [key, isPreview])).toEqual([
    ["SERVICE_PASSWORD_DB", true],
    ["SERVICE_USER_DB", true],
  ]);
});
