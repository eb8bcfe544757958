import { isDomainError } from "@berth/core";
import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("lists a team's projects in the order they were made, page by page", async () => {
    const { projects } = await testTeam(database());
    const made = [];
    for (const name of ["a", "b", "c"]) made.push(await projects.insert({ uuid: testUuid(), name, description: null }));
    expect(await projects.list()).toEqual({ items: made, total: 3 });
    expect(await projects.list({ skip: 1, take: 1 })).toEqual({ items: [made[1]], total: 3 });
    expect(await projects.list({ skip: 2, take: 5 })).toEqual({ items: [made[2]], total: 3 });
    expect(await projects.list({ skip: 9, take: 5 })).toEqual({ items: [], total: 3 });
    expect(await projects.list({ take: 0 })).toEqual({ items: [], total: 3 });
  });

  it("changes only the fields that are given", async () => {
    const { projects } = await testTeam(database());
    const { uuid } = await projects.insert({ uuid: testUuid(), name: "Shop", description: "Sells" });
    expect(await projects.update(uuid, { name: "Store" })).toMatchObject({ name: "Store", description: "Sells" });
    expect(await projects.update(uuid, { description: null })).toMatchObject({ name: "Store", description: null });
    expect(await projects.update("unknown", { name: "x" })).toBeUndefined();
  });

  it("deletes an empty project with its environments and keeps one that has resources", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    await testApplication(stores, place);
    expect(await stores.projects.deleteIfEmpty(place.project.uuid)).toBe(false);
    expect(await stores.environments.deleteIfEmpty(place.environment.id)).toBe(false);
    const empty = await testPlace(stores);
    expect(await stores.projects.deleteIfEmpty(empty.project.uuid)).toBe(true);
    expect(await stores.environments.find(empty.project.id, "production")).toBeUndefined();
  });

  it("continues in the caller's transaction after a refused deletion", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    await testApplication(stores, place);
    await stores.transaction(async (tx) => {
      expect(await tx.projects.deleteIfEmpty(place.project.uuid)).toBe(false);
      await tx.projects.update(place.project.uuid, { name: "Kept" });
    });
    expect(await stores.projects.find(place.project.uuid)).toMatchObject({ name: "Kept" });
  });

  it("finds an environment by its name before its uuid, and only in its project", async () => {
    const stores = await testTeam(database());
    const { project, environment } = await testPlace(stores);
    const named = await stores.environments.insert({
      uuid: testUuid(),
      project_id: project.id,
      name: environment.uuid,
      description: null,
    });
    expect(await stores.environments.find(project.id, environment.uuid)).toEqual(named);
    expect(await stores.environments.find(project.id, named.uuid)).toEqual(named);
    expect(await stores.environments.find(project.id, "production")).toEqual(environment);
    const elsewhere = await testPlace(stores);
    expect(await stores.environments.find(elsewhere.project.id, named.uuid)).toBeUndefined();
    expect(await stores.environments.list(project.id, { take: 1 })).toEqual({ items: [environment], total: 2 });
  });

  it("refuses a second environment of the same name without ending the caller's transaction", async () => {
    const stores = await testTeam(database());
    const { project } = await testPlace(stores);
    const again = { uuid: testUuid(), project_id: project.id, name: "production", description: null };
    await stores.transaction(async (tx) => {
      const isTaken = (error: unknown) => isDomainError(error, "resource.already_exists");
      await expect(tx.environments.insert(again)).rejects.toSatisfy(isTaken);
      await tx.environments.insert({ ...again, name: "staging" });
    });
    expect((await stores.environments.list(project.id)).items.map(({ name }) => name)).toEqual([
      "production",
      "staging",
    ]);
  });
});
