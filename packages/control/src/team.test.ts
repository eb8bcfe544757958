import { createHash } from "node:crypto";
import { secretOf } from "@berth/core/team";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type World, world } from "./world.fixture.ts";

let at: World;
beforeAll(async () => {
  at = await world();
});
afterAll(() => at.db.close());

describe("teams", () => {
  test("see themselves; the root team sees all and makes more", async () => {
    const root = at.as(0, "root");
    expect((await at.own.teams.list({})).items.map(({ name }) => name)).toEqual(["Own"]);
    expect((await root.teams.list({})).items.map(({ name }) => name)).toEqual(["Root Team", "Own", "Other"]);
    await expect(at.own.teams.get(at.otherTeam.id)).rejects.toThrow("Team not found.");
    expect((await root.teams.create({ name: "New" })).name).toBe("New");
    await expect(at.as(at.otherTeam.id, "root").teams.create({ name: "New" })).rejects.toMatchObject({
      code: "auth.root_team_only",
    });
  });
});

describe("tokens", () => {
  test("are shown once and kept as a hash", async () => {
    const { token, id } = await at.own.tokens.create({ name: "ci", abilities: ["read", "deploy"] });
    expect(token).toMatch(new RegExp(`^${id}\\|[A-Za-z0-9]{48}$`));
    const found = await at.db.authenticator.findToken(createHash("sha256").update(secretOf(token)).digest("hex"));
    expect(found).toMatchObject({ id, abilities: ["read", "deploy"] });
    expect(JSON.stringify(await at.own.tokens.list({}))).not.toContain(secretOf(token));
    await at.own.tokens.revoke(id);
    expect((await at.own.tokens.list({})).items.map((one) => one.id)).not.toContain(id);
  });

  test("never get more abilities than who makes them has", async () => {
    const writer = at.as(at.place.server.team_id, "read", "write");
    await expect(writer.tokens.create({ name: "x", abilities: ["deploy"] })).rejects.toMatchObject({
      code: "auth.missing_ability",
    });
    await expect(writer.tokens.create({ name: "x", abilities: ["root"] })).rejects.toThrow(/root/);
    const root = await at.as(at.place.server.team_id, "root").tokens.create({ name: "all", abilities: ["root"] });
    await expect(writer.tokens.revoke(root.id)).rejects.toMatchObject({ code: "auth.missing_ability" });
  });

  test("are made for other teams by the root team only", async () => {
    const root = at.as(0, "root");
    expect((await root.tokens.create({ name: "x", team_id: at.otherTeam.id })).team_id).toBe(at.otherTeam.id);
    await expect(root.tokens.create({ name: "x", team_id: 4711 })).rejects.toThrow("Team not found.");
    await expect(at.own.tokens.create({ name: "x", team_id: at.otherTeam.id })).rejects.toMatchObject({
      code: "auth.root_team_only",
    });
  });

  test("are made for other teams with the ability root only", async () => {
    const writer = at.as(0, "read", "write");
    const asked = { name: "x", abilities: ["write" as const], team_id: at.otherTeam.id };
    await expect(writer.tokens.create(asked)).rejects.toMatchObject({ code: "auth.missing_ability" });
    expect((await writer.tokens.create({ ...asked, team_id: 0 })).team_id).toBe(0);
  });

  test("never outlive the token that makes them", async () => {
    const inMinutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString();
    const brief = await at.own.tokens.create({ name: "x", abilities: ["write"], expires_at: inMinutes(10) });
    const { tokens } = at.asToken(brief);
    const abilities = ["write" as const];
    expect((await tokens.create({ name: "x", abilities })).expires_at).toBe(brief.expires_at);
    expect((await tokens.create({ name: "x", abilities, expires_at: null })).expires_at).toBe(brief.expires_at);
    const earlier = new Date(inMinutes(5));
    const made = await tokens.create({ name: "x", abilities, expires_at: earlier.toISOString() });
    expect(new Date(made.expires_at ?? "")).toEqual(earlier);
    await expect(tokens.create({ name: "x", abilities, expires_at: inMinutes(11) })).rejects.toMatchObject({
      code: "request.invalid",
      fields: { expires_at: [expect.stringContaining("your own token")] },
    });
    const lasting = await at.own.tokens.create({ name: "x", abilities });
    expect((await at.asToken(lasting).tokens.create({ name: "x", abilities })).expires_at).toBeNull();
  });

  test("[S67] of another team cannot be revoked", async () => {
    const { id } = await at.otherTeam.control.tokens.create({ name: "theirs" });
    await expect(at.own.tokens.revoke(id)).rejects.toThrow("Token not found.");
  });

  test("may not expire in the past", async () => {
    await expect(at.own.tokens.create({ name: "x", expires_at: "2020-01-01T00:00:00Z" })).rejects.toMatchObject({
      fields: { expires_at: ["Must be in the future."] },
    });
  });
});

describe("the API's switch", () => {
  test("is the root team's", async () => {
    const other = at.as(at.place.server.team_id, "root");
    await expect(other.instance.disableApi()).rejects.toThrow("You are not allowed to disable the API.");
    await expect(other.instance.enableApi()).rejects.toThrow("You are not allowed to enable the API.");
    const writer = at.as(0, "read", "write", "deploy");
    await expect(writer.instance.disableApi()).rejects.toMatchObject({ code: "auth.missing_ability" });
    const root = at.as(0, "root");
    expect(await root.instance.disableApi()).toEqual({ message: "API disabled." });
    expect(await at.stores.settings.isApiEnabled()).toBe(false);
    expect(await root.instance.enableApi()).toEqual({ message: "API enabled." });
    expect(await at.stores.settings.isApiEnabled()).toBe(true);
  });
});
