import type { ServerSettings } from "@berth/core/server";
import { type TestDatabase, testDatabase } from "@berth/testing";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { openWorld, type World } from "./world.fixture.ts";

/**
 * Opens a world before each test of the file and closes it afterwards. The worlds share a database.
 *
 * @param use Takes the world of the next test, and prepares it.
 */
export function openEachWorld(
  use: (world: World) => Promise<void> | void,
  settings: Partial<ServerSettings> = {},
): void {
  let database: TestDatabase;
  let world: World;
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    world = await openWorld(database, settings);
    await use(world);
  });
  afterEach(() => world.close());
}
