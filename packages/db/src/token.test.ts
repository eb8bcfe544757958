import { randomBytes } from "node:crypto";
import { isDomainError } from "@berth/core";
import type { Stores } from "@berth/core/ports";
import { testTeam } from "@berth/testing";
import { expect, it } from "vitest";
import { onEachBackend } from "./backends.fixture.ts";
import { authenticator } from "./token.ts";

const hash = () => randomBytes(32).toString("hex");

async function insertToken(stores: Stores, fields: { hash: string; expires_at?: Date | null; team_id?: number }) {
  const { id = -1 } = (await stores.teams.current()) ?? {};
  return await stores.tokens.insert({
    team_id: id,
    user_id: 0,
    name: "CI",
    abilities: ["read", "deploy"],
    expires_at: null,
    ...fields,
  });
}

onEachBackend((database) => {
  it("finds a token by the hash of its secret, with its team, abilities and whether the API is on", async () => {
    const stores = await testTeam(database());
    const secret = hash();
    const token = await insertToken(stores, { hash: secret });
    const found = await database().authenticator.findToken(secret);
    const person = { kind: "api", confirmed_at: null, lacks_second_factor: false };
    expect(found).toEqual({ ...token, ...person, role: "owner", is_api_enabled: true });
    expect(found?.abilities).toEqual(["read", "deploy"]);
    expect(await database().authenticator.findToken(hash())).toBeUndefined();
  });

  it("reads an expired token as unknown", async () => {
    const stores = await testTeam(database());
    const [expired, valid] = [hash(), hash()];
    await insertToken(stores, { hash: expired, expires_at: new Date(Date.now() - 1000) });
    await insertToken(stores, { hash: valid, expires_at: new Date(Date.now() + 60_000) });
    expect(await database().authenticator.findToken(expired)).toBeUndefined();
    expect(await database().authenticator.findToken(valid)).toBeDefined();
  });

  it("tells at the token's lookup that the API was turned off", async () => {
    const { settings } = database().stores();
    const secret = hash();
    await insertToken(await testTeam(database()), { hash: secret });
    expect(await settings.isApiEnabled()).toBe(true);
    await settings.setApiEnabled(false);
    expect(await settings.isApiEnabled()).toBe(false);
    expect(await database().authenticator.findToken(secret)).toMatchObject({ is_api_enabled: false });
    await settings.setApiEnabled(true);
    expect(await database().authenticator.findToken(secret)).toMatchObject({ is_api_enabled: true });
  });

  it("makes tokens for other teams only in the root team", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const { id: otherId = -1 } = (await other.teams.current()) ?? {};
    const isUnknownTeam = (error: unknown) => isDomainError(error, "resource.not_found");
    await expect(insertToken(one, { hash: hash(), team_id: otherId })).rejects.toSatisfy(isUnknownTeam);
    const made = await insertToken(database().stores(), { hash: hash(), team_id: otherId });
    expect((await other.tokens.list()).items).toEqual([made]);
    await expect(insertToken(database().stores(), { hash: hash(), team_id: 999_999 })).rejects.toSatisfy(isUnknownTeam);
  });

  it("revokes a token once, and only a token of its own team", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const secret = hash();
    const { id } = await insertToken(one, { hash: secret });
    expect(await other.tokens.delete(id)).toBe(false);
    expect(await database().authenticator.findToken(secret)).toBeDefined();
    expect(await one.tokens.delete(id)).toBe(true);
    expect(await one.tokens.delete(id)).toBe(false);
    expect(await database().authenticator.findToken(secret)).toBeUndefined();
  });

  it("knows which of its team's tokens work", async () => {
    const [one, other] = [await testTeam(database()), await testTeam(database())];
    const inSeconds = (count: number) => new Date(Date.now() + count * 1000);
    const lasting = await insertToken(one, { hash: hash() });
    const brief = await insertToken(one, { hash: hash(), expires_at: inSeconds(60) });
    const expired = await insertToken(one, { hash: hash(), expires_at: inSeconds(-1) });
    const known = (stores: Stores) =>
      Promise.all([lasting, brief, expired, { id: -1 }].map(({ id }) => stores.tokens.isValid(id, "owner")));
    expect(await known(one)).toEqual([true, true, false, false]);
    expect(await known(other)).toEqual([false, false, false, false]);
    // A user who has another role now has other rights than those that a stream began with.
    expect(await one.tokens.isValid(lasting.id, "member")).toBe(false);
    await one.tokens.delete(lasting.id);
    expect(await known(one)).toEqual([false, true, false, false]);
    await one.settings.setApiEnabled(false);
    try {
      expect(await known(one)).toEqual([false, false, false, false]);
    } finally {
      await one.settings.setApiEnabled(true);
    }
  });

  it("writes the times of last use together, and never an earlier one over a later one", async () => {
    const stores = await testTeam(database());
    const { id } = await insertToken(stores, { hash: hash() });
    const closers: (() => Promise<void>)[] = [];
    const { touchToken } = authenticator({
      ...database().database,
      beforeClose: (work) => void closers.push(work),
    });
    const flush = () => Promise.all(closers.map((work) => work()));
    const later = new Date("2026-05-05T05:05:05.555Z");
    touchToken(id, new Date("2026-01-01T00:00:00.000Z"));
    touchToken(id, later);
    await flush();
    touchToken(id, new Date("2026-02-02T00:00:00.000Z"));
    await flush();
    const [token] = (await stores.tokens.list()).items;
    expect(token?.last_used_at).toEqual(later);
  });
});
