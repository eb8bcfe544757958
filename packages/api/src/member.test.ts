import type { Ability, Role } from "@berth/core/team";
import { testUuid } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";

let api: Served;
let members: string;
beforeAll(async () => {
  api = await served();
  members = `/teams/${api.place.server.team_id}/members`;
});
afterAll(() => api.close());

async function added(role: Role = "member"): Promise<{ id: number; email: string }> {
  const body = { email: `${testUuid()}@example.com`, role };
  const { status, json } = await api.ask("POST", members, { token: api.rootToken, body });
  expect([status, json.role]).toEqual([201, role]);
  return json;
}

async function tokenOf(user_id: number, ...abilities: Ability[]): Promise<string> {
  const body = { name: "hers", abilities, user_id };
  const { status, json } = await api.ask("POST", "/tokens", { body });
  expect([status, json.user_id]).toEqual([201, user_id]);
  return json.token;
}

describe("members of a team", () => {
  test("are listed with what they are, and without a secret", async () => {
    const { email } = await added("admin");
    for (const path of ["/teams/current/members", members]) {
      const { status, json, headers, text } = await api.ask("GET", `${path}?take=1000`, {
        token: await api.tokenWith("read"),
      });
      expect([status, headers["x-total-count"]]).toEqual([200, String(json.length)]);
      expect(json).toContainEqual({
        id: expect.any(Number),
        name: email.split("@")[0],
        email,
        role: "admin",
        email_verified_at: null,
        two_factor_confirmed_at: null,
        force_password_reset: false,
        marketing_emails: false,
        pending_email: null,
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      });
      expect(text).not.toMatch(/hash|"password|token/);
    }
  });

  test("are added once, changed and removed", async () => {
    const { id, email } = await added();
    const again = await api.ask("POST", members, { body: { email: email.toUpperCase() } });
    expect([again.status, again.json.code]).toEqual([409, "resource.already_exists"]);
    const changed = await api.ask("PATCH", `${members}/${id}`, { token: api.rootToken, body: { role: "admin" } });
    expect([changed.status, changed.json.role]).toEqual([200, "admin"]);
    const removed = await api.ask("DELETE", `${members}/${id}`);
    expect([removed.status, removed.json]).toEqual([200, { message: "Member removed." }]);
    const gone = await api.ask("PATCH", `${members}/${id}`, { body: { role: "admin" } });
    expect([gone.status, gone.json.message]).toEqual([404, "User not found."]);
  });

  test("get no role that may do more than the token that adds or promotes them", async () => {
    const eve = (role: Role) => ({ email: `${testUuid()}@example.com`, role });
    const { id } = await added();
    const token = await api.tokenWith("read", "write");
    for (const refused of [
      await api.ask("POST", members, { token, body: eve("admin") }),
      await api.ask("POST", members, { token, body: eve("owner") }),
      await api.ask("PATCH", `${members}/${id}`, { token, body: { role: "admin" } }),
    ]) {
      expect([refused.status, refused.json.code]).toEqual([403, "auth.missing_ability"]);
    }
    const listed = await api.ask("GET", `${members}?take=1000`);
    expect(listed.json.find((member: { id: number }) => member.id === id).role).toBe("member");
    expect((await api.ask("POST", members, { token, body: eve("member") })).status).toBe(201);
  });

  test("keep an owner", async () => {
    const { status, json } = await api.ask("DELETE", `${members}/0`);
    expect([status, json.code, json.message]).toEqual([400, "resource.state", expect.stringMatching(/last owner/)]);
  });
});

describe("a member's token", () => {
  test("reads, and cannot be made to do more", async () => {
    const { id } = await added();
    const body = { name: "x", abilities: ["read", "write"], user_id: id };
    const { status, json } = await api.ask("POST", "/tokens", { body });
    expect([status, json.message, json.code]).toEqual([403, "Missing required team role.", "auth.missing_role"]);
    const token = await tokenOf(id, "read");
    expect((await api.ask("GET", "/applications", { token })).status).toBe(200);
    const refused = await api.ask("POST", "/projects", { token, body: { name: "Hers" } });
    expect([refused.status, refused.json.message]).toEqual([403, "Missing required permissions: write"]);
  });

  test("does at once what a new role allows, and no more", async () => {
    const { id } = await added("admin");
    const token = await tokenOf(id, "read", "read:sensitive", "write", "deploy");
    const write = () => api.ask("POST", "/projects", { token, body: { name: "Hers" } });
    expect((await write()).status).toBe(201);
    await api.ask("PATCH", `${members}/${id}`, { body: { role: "member" } });
    const refused = await write();
    expect([refused.status, refused.json.message]).toEqual([403, "Missing required team role."]);
    expect((await api.ask("GET", "/projects", { token })).status).toBe(200);
    await api.ask("PATCH", `${members}/${id}`, { token: api.rootToken, body: { role: "admin" } });
    expect((await write()).status).toBe(201);
  });

  test("stops working with the removal of its user, in that team only", async () => {
    const { id, email } = await added("admin");
    const theirs = { token: api.otherTeam.token };
    const otherTeam = (await api.ask("GET", "/teams/current", theirs)).json.id;
    await api.ask("POST", `/teams/${otherTeam}/members`, { ...theirs, body: { email } });
    const inOther = await api.ask("POST", "/tokens", { ...theirs, body: { name: "x", user_id: id } });
    const token = await tokenOf(id, "read");
    await api.ask("DELETE", `${members}/${id}`);
    const refused = await api.ask("GET", "/projects", { token });
    expect([refused.status, refused.json.message]).toEqual([401, "Unauthenticated."]);
    expect((await api.ask("GET", "/projects", { token: inOther.json.token })).status).toBe(200);
  });
});
