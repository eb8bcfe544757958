import { isDomainError } from "@berth/core";
import { testTeam } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  it("has the root team, with id 0, from the start", async () => {
    expect(await database().stores().teams.current()).toMatchObject({ id: 0, personal_team: false });
  });

  it("shows all teams to the root team and to any other only itself", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const own = await one.teams.current();
    const foreign = await other.teams.current();
    const all = await database().stores().teams.list();
    expect(all.items.map(({ id }) => id)).toEqual(expect.arrayContaining([0, own?.id, foreign?.id]));
    expect(all.total).toBe(all.items.length);
    expect(await one.teams.list()).toEqual({ items: [own], total: 1 });
    expect(await one.teams.find(foreign?.id ?? -1)).toBeUndefined();
    expect(
      await database()
        .stores()
        .teams.find(foreign?.id ?? -1),
    ).toEqual(foreign);
  });

  it("lets only the root team make teams", async () => {
    const stores = await testTeam(database());
    const making = stores.teams.insert({ name: "Sneaky", description: null });
    await expect(making).rejects.toSatisfy((error) => isDomainError(error, "auth.root_team_only"));
  });

  it("finds no team by what is no possible id", async () => {
    const { teams } = database().stores();
    for (const id of [-1, 1.5, Number.NaN, 2 ** 70]) expect(await teams.find(id)).toBeUndefined();
  });

  it("counts all teams whatever page is asked for", async () => {
    const { teams } = database().stores();
    await testTeam(database());
    const { total } = await teams.list();
    const page = await teams.list({ skip: 1, take: 1 });
    expect(page.items).toHaveLength(1);
    expect(page.total).toBe(total);
    expect(await teams.list({ skip: total + 5, take: 1 })).toEqual({ items: [], total });
  });
});
