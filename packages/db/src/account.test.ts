import type { SystemStores } from "@berth/core/ports";
import { testTeam, testUuid } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";

onEachBackend((database) => {
  /** A user of two teams, signed in to the second one. */
  async function signedIn() {
    const { accounts } = database().system;
    const [first, second] = [await testTeam(database()), await testTeam(database())];
    const person = { email: `${testUuid()}@example.com`, name: "Ada", role: "admin" as const };
    const [one = -1, other = -1] = await Promise.all(
      [first, second].map(async (stores) => (await stores.teams.current())?.id),
    );
    const { id } = await first.members.insert(one, person);
    await second.members.insert(other, { ...person, role: "member" });
    await accounts.acceptTeams(id);
    return { accounts, id, team: other, email: person.email };
  }
  const open = (accounts: SystemStores["accounts"], user_id: number, team_id: number, expires_at: Date) =>
    accounts.insertSession({
      ...{ user_id, team_id, name: "Ada", hash: testUuid(), device: "Firefox", address: "::1" },
      ...{ confirmed_at: new Date(), expires_at, passkey_id: null },
    });
  const tomorrow = () => new Date(Date.now() + 86_400_000);

  it("reads a session with its user and their teams at once, as they are read alone", async () => {
    const { accounts, id, team, email } = await signedIn();
    const session = await open(accounts, id, team, tomorrow());
    expect(await accounts.current(id, session.id)).toEqual({
      session,
      user: { id, name: "Ada", email },
      teams: await accounts.teams(id),
    });
    expect(await accounts.sessions(id)).toEqual([session]);
  });

  it("reads no session that has ended or belongs to another user, and no team that was not joined", async () => {
    const { accounts, id, team, email } = await signedIn();
    const ended = await open(accounts, id, team, new Date(0));
    expect(await accounts.current(id, ended.id)).toBeUndefined();
    const session = await open(accounts, id, team, tomorrow());
    expect(await accounts.current((await signedIn()).id, session.id)).toBeUndefined();
    const stores = await testTeam(database());
    const uninvited = (await stores.teams.current())?.id ?? -1;
    await stores.members.insert(uninvited, { email, name: "Ada", role: "admin" });
    expect((await accounts.current(id, session.id))?.teams.map((one) => one.id)).not.toContain(uninvited);
    await accounts.deleteSession(id, session.id);
    expect(await accounts.current(id, session.id)).toBeUndefined();
  });
});
