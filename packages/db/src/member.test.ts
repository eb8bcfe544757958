import { isDomainError } from "@berth/core";
import type { Stores } from "@berth/core/ports";
import { testTeam, testUuid } from "@berth/testing";
import { sql } from "kysely";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

const address = () => `${testUuid()}@example.com`;
const teamOf = async (stores: Stores) => (await stores.teams.current())?.id ?? -1;
const ada = (email = address()) => ({ email, name: "Ada", role: "admin" as const });

onEachBackend((database) => {
  const knows = async (email: string) => {
    const { rows } = await sql`select id from "user" where email = ${email}`.execute(database().database.kysely);
    return rows.length === 1;
  };
  const tokenFor = (stores: Stores, team_id: number, user_id: number) =>
    stores.tokens.insert({ team_id, user_id, name: "CI", abilities: ["read"], hash: testUuid(), expires_at: null });

  it("gives every team its owner: the instance's own user, or who is named", async () => {
    const root = database().stores();
    const stores = await testTeam(database());
    const team = await teamOf(stores);
    expect((await stores.members.list(team)).items).toMatchObject([{ id: 0, name: "Root", role: "owner" }]);
    const member = await stores.members.insert(team, ada());
    const { id } = await root.teams.insert({ name: "Hers", description: null, owner_id: member.id });
    expect((await root.members.list(id)).items).toEqual([{ ...member, role: "owner", accepted_at: expect.any(Date) }]);
  });

  it("makes a user once, however many teams they join, and keeps their name", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const email = address();
    const first = await one.members.insert(await teamOf(one), ada(email));
    const second = await other.members.insert(await teamOf(other), { email, name: "Eve", role: "member" });
    expect(second).toEqual({ ...first, role: "member" });
    expect(await one.members.find(await teamOf(one), first.id)).toEqual(first);
  });

  it("makes one of those who add the same user at once a member, and tells the others", async () => {
    const stores = await testTeam(database());
    const team = await teamOf(stores);
    const email = address();
    const tries = Array.from({ length: 5 }, () =>
      stores.members.insert(team, ada(email)).catch((error: unknown) => error),
    );
    const answers = await Promise.all(tries);
    expect(answers.filter((answer) => !isDomainError(answer, "resource.already_exists"))).toHaveLength(1);
    expect((await stores.members.list(team)).total).toBe(2);
  });

  it("revokes a member's tokens of the team, and only those, when they leave", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const email = address();
    const { id } = await one.members.insert(await teamOf(one), ada(email));
    await other.members.insert(await teamOf(other), ada(email));
    const [gone, kept] = [await tokenFor(one, await teamOf(one), id), await tokenFor(other, await teamOf(other), id)];
    expect(await one.members.tokens(await teamOf(one), id)).toEqual([gone]);
    expect(await one.members.delete(await teamOf(one), id)).toBe(true);
    expect(await one.members.delete(await teamOf(one), id)).toBe(false);
    expect([await one.tokens.isValid(gone.id, "admin"), await other.tokens.isValid(kept.id, "admin")]).toEqual([
      false,
      true,
    ]);
  });

  it("forgets a user who is in no team any more, but never the instance's own", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const email = address();
    const { id } = await one.members.insert(await teamOf(one), ada(email));
    await other.members.insert(await teamOf(other), ada(email));
    await one.members.delete(await teamOf(one), id);
    expect(await knows(email)).toBe(true);
    await other.members.delete(await teamOf(other), id);
    expect(await knows(email)).toBe(false);
    await one.members.delete(await teamOf(one), 0);
    expect(await knows("root@localhost")).toBe(true);
  });

  it("never forgets a user whom another team adds in that moment", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const [oneId, otherId] = [await teamOf(one), await teamOf(other)];
    for (let round = 0; round < 10; round++) {
      const email = address();
      const { id } = await one.members.insert(oneId, ada(email));
      const [, joined] = await Promise.all([one.members.delete(oneId, id), other.members.insert(otherId, ada(email))]);
      expect(await other.members.find(otherId, joined.id)).toEqual(joined);
    }
  });

  it("gives no token to who is no member", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const { id } = await other.members.insert(await teamOf(other), ada());
    await expect(tokenFor(one, await teamOf(one), id)).rejects.toMatchObject({ message: "User not found." });
  });

  it("tells the role with a token's lookup, as it is now", async () => {
    const stores = await testTeam(database());
    const team = await teamOf(stores);
    const { id } = await stores.members.insert(team, ada());
    const hash = testUuid();
    await stores.tokens.insert({ team_id: team, user_id: id, name: "CI", abilities: ["root"], hash, expires_at: null });
    expect(await database().authenticator.findToken(hash)).toMatchObject({ user_id: id, role: "admin" });
    expect(await stores.members.setRole(team, id, "member")).toMatchObject({ id, role: "member" });
    expect(await database().authenticator.findToken(hash)).toMatchObject({ role: "member" });
    await stores.members.delete(team, id);
    expect(await database().authenticator.findToken(hash)).toBeUndefined();
  });

  it("shows the members of all teams to the root team", async () => {
    const stores = await testTeam(database());
    const team = await teamOf(stores);
    const made = await database().stores().members.insert(team, ada());
    expect(await database().stores().members.find(team, made.id)).toEqual(made);
    expect(await stores.members.lockOwners(team)).toEqual([0]);
    expect(await stores.members.list(team, { skip: 1, take: 1 })).toEqual({ items: [made], total: 2 });
    expect(await stores.members.list(team, { skip: 5, take: 1 })).toEqual({ items: [], total: 2 });
  });
});
