import { testKey, testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVERYTHING, outcomes, type World, world } from "./world.fixture.ts";

let at: World;
let team: number;
beforeAll(async () => {
  at = await world();
  team = at.place.server.team_id;
});
afterAll(() => at.db.close());

const address = () => `${testUuid()}@example.com`;
const add = (role: "owner" | "admin" | "member" = "member", to = team) =>
  at.as(to, "root").members.add(to, { email: address(), role });
/** The use cases as called by a member of the team, with a token that has all abilities of the role. */
const acting = ({ id, role }: { readonly id: number; readonly role: "owner" | "admin" | "member" }) =>
  at.asToken({ id: 1, team_id: team, user_id: id, abilities: ["root"], expires_at: null }, role);

describe("members", () => {
  test("are added, listed, given another role and removed", async () => {
    const email = address();
    const added = await at.own.members.add(team, { email });
    expect(added).toMatchObject({ email, name: email.split("@")[0], role: "member", force_password_reset: false });
    expect((await at.own.members.list(undefined, {})).items).toContainEqual(added);
    expect((await at.own.members.list(team, {})).items).toContainEqual(added);
    const admin = await at.as(team, "root").members.update(team, added.id, { role: "admin" });
    expect(admin).toEqual({ ...added, role: "admin" });
    expect(await at.own.members.remove(team, added.id)).toEqual({ message: "Member removed." });
    await expect(at.own.members.remove(team, added.id)).rejects.toThrow("User not found.");
  });

  test("are members once", async () => {
    const { email } = await add();
    await expect(at.own.members.add(team, { email })).rejects.toMatchObject({ code: "resource.already_exists" });
  });

  test("[S67] of another team read as those of no team", async () => {
    const { id } = await add("member", at.otherTeam.id);
    const asked = [
      at.own.members.list(at.otherTeam.id, {}),
      at.own.members.add(at.otherTeam.id, { email: address() }),
      at.own.members.update(at.otherTeam.id, id, { role: "admin" }),
      at.own.members.remove(at.otherTeam.id, id),
      at.own.members.list(4711, {}),
    ];
    expect(await outcomes(asked)).toEqual(asked.map(() => "Team not found."));
    await expect(at.own.members.update(team, id, { role: "admin" })).rejects.toThrow("User not found.");
  });

  test("are managed in any team by who runs the instance, with the ability root", async () => {
    const root = at.as(0, "root").members;
    const { id } = await root.add(at.otherTeam.id, { email: address(), role: "owner" });
    expect(await root.update(at.otherTeam.id, id, { role: "member" })).toMatchObject({ id, role: "member" });
    const writer = at.as(0, "read", "write").members;
    await expect(writer.remove(at.otherTeam.id, id)).rejects.toMatchObject({ code: "auth.missing_role" });
    await root.remove(at.otherTeam.id, id);
  });

  test("emit events about their changes", async () => {
    const { id, name } = await add("admin");
    await at.own.members.update(team, id, { role: "member" });
    await at.own.tokens.create({ name: "hers", user_id: id });
    await at.own.members.remove(team, id);
    const events = await at.stores.events.list({});
    const told = events.filter(({ type, payload }) => payload.user_id === id || type === "token.revoked");
    expect(told.map(({ type, payload }) => [type, payload])).toEqual([
      ["member.added", { team_id: team, user_id: id, name, role: "admin" }],
      ["member.role_changed", { team_id: team, user_id: id, name, role: "member" }],
      ["member.removed", { team_id: team, user_id: id, name, role: "member" }],
      ["token.revoked", { id: expect.any(Number), name: "hers" }],
    ]);
  });
});

describe("a team", () => {
  test("keeps its last owner", async () => {
    const refused = /last owner/;
    await expect(at.own.members.remove(team, 0)).rejects.toThrow(refused);
    await expect(at.own.members.update(team, 0, { role: "admin" })).rejects.toThrow(refused);
    const second = await add("owner");
    await at.own.members.update(team, 0, { role: "admin" });
    await expect(at.own.members.remove(team, second.id)).rejects.toThrow(refused);
    await at.as(team, "root").members.update(team, 0, { role: "owner" });
    await at.own.members.remove(team, second.id);
  });

  test("keeps one owner of two who leave at once", async () => {
    for (let round = 0; round < 5; round++) {
      const { id } = await add("owner");
      const leaving = [
        at.own.members.update(team, id, { role: "member" }),
        at.own.members.update(team, 0, { role: "member" }),
      ];
      const results = await outcomes(leaving);
      expect(results.filter((result) => result === "done")).toHaveLength(1);
      const { items } = await at.own.members.list(team, {});
      expect(items.filter(({ role }) => role === "owner")).toHaveLength(1);
      // An owner who signs in has all abilities, so only a caller with all of them may make one.
      await at.as(team, "root").members.update(team, 0, { role: "owner" });
      await at.own.members.remove(team, id);
    }
  });

  test("that runs the instance keeps the instance's own user", async () => {
    const root = at.as(0, "root").members;
    const { id } = await root.add(0, { email: address(), role: "owner" });
    await expect(root.remove(0, 0)).rejects.toMatchObject({ code: "resource.state" });
    await expect(root.update(0, 0, { role: "member" })).rejects.toMatchObject({ code: "resource.state" });
    await root.remove(0, id);
  });

  test("is owned by who makes it", async () => {
    const root = at.as(0, "root");
    const { id } = await root.members.add(0, { email: address(), role: "admin" });
    const token = { id: 1, team_id: 0, user_id: id, abilities: ["root" as const], expires_at: null };
    const made = await at.asToken(token, "admin").teams.create({ name: "Hers" });
    expect((await root.members.list(made.id, {})).items).toMatchObject([{ id, role: "owner" }]);
    await root.members.add(made.id, { email: address(), role: "owner" });
    await root.members.remove(made.id, id);
    await root.members.remove(0, id);
  });
});

describe("an administrator", () => {
  test("manages administrators and members, and no owner", async () => {
    const admin = acting(await add("admin"));
    const { id } = await admin.members.add(team, { email: address(), role: "admin" });
    const beyond = [
      admin.members.add(team, { email: address(), role: "owner" }),
      admin.members.update(team, id, { role: "owner" }),
      admin.members.update(team, 0, { role: "member" }),
      admin.members.remove(team, 0),
    ];
    expect(await outcomes(beyond)).toEqual(beyond.map(() => "Missing required team role."));
    await admin.members.update(team, id, { role: "member" });
    await admin.members.remove(team, id);
  });

  test("makes tokens for others, but none that acts as an owner", async () => {
    const own = await add("admin");
    const admin = acting(own);
    const other = await add("admin");
    expect(await admin.tokens.create({ name: "x", abilities: ["write"] })).toMatchObject({ user_id: own.id });
    const asked = { name: "x", abilities: ["write" as const] };
    expect(await admin.tokens.create({ ...asked, user_id: other.id })).toMatchObject({ user_id: other.id });
    await expect(admin.tokens.create({ ...asked, user_id: 0 })).rejects.toMatchObject({ code: "auth.missing_role" });
  });

  test("cannot revoke by a removal what their own token could not revoke", async () => {
    const { id } = await add("admin");
    await at.as(team, "root").tokens.create({ name: "mighty", abilities: ["root"], user_id: id });
    await expect(at.own.members.remove(team, id)).rejects.toMatchObject({ code: "auth.missing_ability" });
    await at.as(team, "root").members.remove(team, id);
  });
});

describe("a token that may not do what another user's token may", () => {
  const beyond = { code: "auth.missing_ability", message: expect.stringContaining("(root)") };

  test("neither takes it away from the user by a lower role, nor gives it back by a higher one", async () => {
    const { id } = await add("owner");
    await at.as(team, "root").tokens.create({ name: "mighty", abilities: ["root"], user_id: id });
    const writer = at.as(team, "read", "terminal", "read:sensitive", "write", "write:sensitive", "deploy").members;
    await expect(writer.update(team, id, { role: "member" })).rejects.toMatchObject(beyond);
    const root = at.as(team, "root").members;
    await root.update(team, id, { role: "member" });
    await expect(writer.update(team, id, { role: "admin" })).rejects.toMatchObject(beyond);
    expect((await root.list(team, {})).items.find((item) => item.id === id)?.role).toBe("member");
    await root.remove(team, id);
  });

  test("changes the roles of those whose tokens may do less", async () => {
    const { id } = await add("admin");
    await at.own.tokens.create({ name: "writes", abilities: ["write"], user_id: id });
    expect(await at.as(team, "write").members.update(team, id, { role: "member" })).toMatchObject({ role: "member" });
    await at.own.members.remove(team, id);
  });
});

describe("a member", () => {
  test("holds tokens that read and do nothing else", async () => {
    const { id } = await add("member");
    for (const ability of [...EVERYTHING.filter((one) => one !== "read"), "root" as const]) {
      const asked = at.as(team, "root").tokens.create({ name: "x", abilities: ["read", ability], user_id: id });
      await expect(asked).rejects.toMatchObject({ code: "auth.missing_role", message: "Missing required team role." });
    }
    expect(await at.own.tokens.create({ name: "x", user_id: id })).toMatchObject({ user_id: id, abilities: ["read"] });
  });

  test("reads, and is refused everything else whatever their token holds", async () => {
    const member = acting(await add("member"));
    expect((await member.members.list(undefined, {})).total).toBeGreaterThan(1);
    const { uuid } = await at.own.privateKeys.create({ private_key: testKey(address()) });
    expect(await member.privateKeys.get(uuid)).not.toHaveProperty("private_key");
    const refused = [
      member.members.add(team, { email: address() }),
      member.members.remove(team, 0),
      member.tokens.create({ name: "x" }),
      member.projects.create({ name: "hers" }),
      member.deploy({ uuid }),
    ];
    expect(await outcomes(refused)).toEqual(refused.map(() => "Missing required team role."));
  });

  test("of another team is given no token", async () => {
    const { id } = await add("admin", at.otherTeam.id);
    await expect(at.own.tokens.create({ name: "x", user_id: id })).rejects.toThrow("User not found.");
    const root = at.as(0, "root").tokens;
    expect(await root.create({ name: "x", team_id: at.otherTeam.id, user_id: id })).toMatchObject({ user_id: id });
  });

  test("of the root team who is in another team no member names one for its tokens", async () => {
    const { id } = await at.as(0, "root").members.add(0, { email: address(), role: "admin" });
    const token = { id: 1, team_id: 0, user_id: id, abilities: ["root" as const], expires_at: null };
    const asked = at.asToken(token, "admin").tokens;
    await expect(asked.create({ name: "x", team_id: team })).rejects.toMatchObject({
      code: "request.invalid",
      fields: { user_id: [expect.stringMatching(/not a member/)] },
    });
    expect(await asked.create({ name: "x", team_id: team, user_id: 0 })).toMatchObject({ user_id: 0 });
  });
});
