import { testApplication, testPlace, testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const tag = (name: string) => ({ uuid: testUuid(), name });

onEachBackend((database) => {
  it("gives two resources one tag, and finds both by it", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, two] = [await testApplication(stores, place), await testApplication(stores, place)];
    await stores.tags.attach(one.id, [tag("web"), tag("blue")]);
    await stores.tags.attach(two.id, [tag("blue"), tag("blue")]);
    const { items } = await stores.tags.listByResource(one.id);
    expect(items.map(({ name }) => name)).toEqual(["blue", "web"]);
    expect((await stores.tags.listByResource(two.id)).items).toEqual([items[0]]);
    expect(await stores.tags.list({ take: 1 })).toEqual({ items: [items[0]], total: 2 });
    const tagged = await stores.applications.list({ tag: "blue" });
    expect(tagged.items.map(({ uuid }) => uuid)).toEqual([one.uuid, two.uuid]);
  });

  it("takes a tag from one resource, and shows it as long as another has it", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const [one, two] = [await testApplication(stores, place), await testApplication(stores, place)];
    for (const { id } of [one, two]) await stores.tags.attach(id, [tag("blue")]);
    await stores.tags.attach(one.id, [tag("web")]);
    const [blue, web] = (await stores.tags.list()).items;
    const uuid = blue?.uuid ?? "";
    expect(await stores.tags.detach(one.id, uuid)).toBe(true);
    expect(await stores.tags.detach(one.id, uuid)).toBe(false);
    expect((await stores.tags.listByResource(one.id)).items).toEqual([web]);
    expect(await stores.tags.detach(one.id, web?.uuid ?? "")).toBe(true);
    expect((await stores.tags.list()).items).toEqual([blue]);
    await database().system.resources.delete(two.id);
    expect(await stores.tags.list()).toEqual({ items: [], total: 0 });
    await stores.tags.attach(one.id, [tag("blue")]);
    expect((await stores.tags.list()).items).toEqual([blue]);
  });

  it("makes a tag once when several ask at the same time", async () => {
    const stores = await testTeam(database());
    const place = await testPlace(stores);
    const names = ["a", "b", "c"];
    const made = [];
    for (let n = 0; n < 4; n++) made.push(await testApplication(stores, place));
    await Promise.all(
      made.map(({ id }, n) => stores.tags.attach(id, (n % 2 === 0 ? names : [...names].reverse()).map(tag))),
    );
    expect((await stores.tags.list()).items.map(({ name }) => name)).toEqual(names);
    expect((await stores.applications.list({ tag: "b" })).total).toBe(4);
  });
});
