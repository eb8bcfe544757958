import { testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

/**
 * Behaviour that may differ between TCP and a unix socket. Everything else is tested on the backends of
 * `onEachBackend`.
 */
onEachBackend(
  (database) => {
    it("keeps what a transaction wrote, and nothing of one that failed", async () => {
      const stores = await testTeam(database());
      const insert = (name: string) => stores.projects.insert({ uuid: testUuid(), name, description: null });
      await stores.transaction(() => insert("kept"));
      const failing = stores.transaction(async (tx) => {
        await tx.projects.insert({ uuid: testUuid(), name: "undone", description: null });
        throw new Error("on purpose");
      });
      await expect(failing).rejects.toThrow("on purpose");
      const { items } = await stores.projects.list();
      expect(items.map(({ name }) => name)).toEqual(["kept"]);
    });

    it("receives notifications of other connections", async () => {
      const { kysely, listen } = database().database;
      const heard = Promise.withResolvers<string | undefined>();
      const stop = await listen("berth_test", heard.resolve);
      await sql`select pg_notify('berth_test', 'hello')`.execute(kysely);
      expect(await heard.promise).toBe("hello");
      stop();
    });

    it("carries a value of a megabyte whole", async () => {
      const stores = await testTeam(database());
      const description = "é".repeat(500_000);
      const { uuid } = await stores.projects.insert({ uuid: testUuid(), name: "large", description });
      expect((await stores.projects.find(uuid))?.description).toBe(description);
    });
  },
  ["tcp"],
);
