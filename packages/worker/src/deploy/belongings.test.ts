import type { ObjectOwner, ReleaseSpec } from "@berth/core/deploy";
import { type TestDatabase, testApplication, testDatabase, testPlace, testTeam } from "@berth/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { assertOwnedByTeam } from "./belongings.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

test("a release joins its team's networks and nobody else's", async () => {
  const [own, others] = [await testTeam(database), await testTeam(database)];
  const mine = await testPlace(own);
  const { uuid } = await testApplication(own, mine);
  const other = await testApplication(others, await testPlace(others));
  const spec = { resourceUuid: uuid, network: "x", artifact: { type: "image", image: "x" } } as ReleaseSpec;
  const start = (owner: ObjectOwner) => {
    const adapters = { server: mine.server, engine: { containers: { ownersOf: async () => [owner] } } };
    // Only these members are used.
    const given = { stores: database.system, adapters, teamId: mine.server.team_id } as unknown;
    return assertOwnedByTeam(given as Parameters<typeof assertOwnedByTeam>[0], spec);
  };
  await start(undefined);
  await start({ isOurs: true, resourceUuid: uuid });
  const refused = { code: "deploy.start_failed", message: expect.stringContaining("The network x of server") };
  await expect(start({ isOurs: true, resourceUuid: other.uuid })).rejects.toMatchObject(refused);
  await expect(start({ isOurs: true, resourceUuid: "gone" })).rejects.toMatchObject(refused);
  await expect(start({ isOurs: true, resourceUuid: null })).rejects.toMatchObject(refused);
});
