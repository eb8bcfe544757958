import type { SystemStores } from "@berth/core/ports";
import { type TestDatabase, testApplication, testDatabase, testPlace, testTeam } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serverRecords } from "./server-records.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

/** A server with applications that were never deployed, and a count of the records read. */
async function manyApplications(count: number) {
  const stores = await testTeam(database);
  const place = await testPlace(stores);
  const applications = [];
  for (let n = 0; n < count; n += 1) applications.push(await testApplication(stores, place));
  const inspected: number[] = [];
  const opened: number[] = [];
  const { resources } = database.system;
  const counting: SystemStores = {
    ...database.system,
    resources: {
      ...resources,
      inspect: (ids) => {
        inspected.push(...ids);
        return resources.inspect(ids);
      },
      subjects: (kind, ids) => {
        opened.push(...ids);
        return resources.subjects(kind, ids);
      },
    },
  };
  const read = serverRecords(counting);
  const look = async () => {
    inspected.length = 0;
    opened.length = 0;
    const records = await read(place.server.id);
    return { records, inspected: [...inspected], opened: [...opened] };
  };
  return { stores, applications, look };
}

describe("looking at a server with many applications that never ran", () => {
  test("opens no secret, and reads again what changed and nothing else", async () => {
    const { stores, applications, look } = await manyApplications(40);
    const [first, second, third] = applications;
    if (first === undefined || second === undefined || third === undefined) throw new Error("There are too few.");
    const begin = await look();
    expect(begin.inspected).toHaveLength(40);
    expect(begin.opened).toEqual([]);
    expect(begin.records.resources.map(({ resource }) => resource.id)).toEqual(applications.map(({ id }) => id));

    const unchanged = await look();
    expect(unchanged).toMatchObject({ inspected: [], opened: [] });
    for (const [n, recorded] of unchanged.records.resources.entries())
      expect(recorded).toBe(begin.records.resources[n]);

    await stores.applications.update(first.id, { name: "renamed" });
    const renamed = await look();
    expect(renamed).toMatchObject({ inspected: [first.id], opened: [] });
    expect(renamed.records.resources[0]?.resource.name).toBe("renamed");

    await stores.resources.setDesiredState(second.id, "running");
    const running = await look();
    expect(running).toMatchObject({ inspected: [second.id], opened: [second.id] });
    expect(running.records.resources[1]?.facts?.site?.owner.uuid).toBe(second.uuid);

    // Of thousands of resources, neither the settings nor the secrets are kept in memory.
    const kept = JSON.stringify(running.records.resources[1]);
    for (const field of ["install_command", "build_command"]) expect(kept).not.toContain(field);
    expect(kept.length).toBeLessThan(2000);

    await database.system.resources.delete(third.id);
    const gone = await look();
    expect(gone.inspected).toEqual([third.id]);
    expect(gone.records.resources).toHaveLength(39);
    expect(await look()).toMatchObject({ inspected: [], opened: [] });
  });

  test("reads again after a reading that failed", async () => {
    const { stores, applications, look } = await manyApplications(2);
    await look();
    const id = applications[0]?.id ?? 0;
    await stores.resources.setDesiredState(id, "running");
    const { resources } = database.system;
    const failing = serverRecords({
      ...database.system,
      resources: { ...resources, subjects: () => Promise.reject(new Error("away")) },
    });
    await expect(failing(applications[0]?.server_id ?? 0)).rejects.toThrow("away");
    await expect(failing(applications[0]?.server_id ?? 0)).rejects.toThrow("away");
    expect((await look()).opened).toEqual([id]);
  });
});
