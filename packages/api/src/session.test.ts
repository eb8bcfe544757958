import { signInTries } from "@berth/control";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { testBackup, testPasswords } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createdApplication, type Served, served } from "./berth.fixture.ts";
import { browserOf, cookieOf, OWN_PAGE, PASSWORD, person, request, signIn } from "./browser.fixture.ts";

let api: Served;
beforeAll(async () => {
  api = await served();
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

describe("a sign-in link", () => {
  test("lets a new user choose a password and signs them in, once", async () => {
    const team = api.place.server.team_id;
    const member = await api.ask("POST", `/teams/${team}/members`, {
      token: api.rootToken,
      body: { email: "grace@example.com", role: "admin" },
    });
    const path = `/teams/${team}/members/${member.json.id}/sign-in-link`;
    const link = await api.ask("POST", path, { token: api.rootToken });
    expect(link.status).toBe(201);
    const { code } = link.json;
    const inspected = await request(api, "POST", "/auth/links/inspect", { body: { code } });
    expect(inspected.json).toEqual({ name: "grace", email: "grace@example.com", team_name: "Own", password: "choose" });

    const weak = await request(api, "POST", "/auth/links/redeem", { body: { code, password: "short" } });
    expect([weak.status, weak.json.errors.password]).toEqual([
      422,
      expect.arrayContaining(["At least 12 characters."]),
    ]);
    const redeemed = await request(api, "POST", "/auth/links/redeem", { body: { code, password: PASSWORD } });
    expect(redeemed.status).toBe(201);
    expect(redeemed.headers["set-cookie"]).toMatch(
      /^berth_session=\d+\.\w+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/,
    );
    expect(redeemed.json.session).toMatchObject({
      user: { email: "grace@example.com" },
      team: { id: team, name: "Own", role: "admin" },
    });
    const again = await request(api, "POST", "/auth/links/redeem", { body: { code, password: PASSWORD } });
    expect([again.status, again.json.code]).toEqual([400, "auth.link_invalid"]);
  });

  test("of a team gives nobody the account of a user who has a password", async () => {
    const { id, email } = await person(api);
    const other = api.otherTeam.place.server.team_id;
    await api.ask("POST", `/teams/${other}/members`, { token: api.rootToken, body: { email } });
    const rootOfOther = await tokenOf(other);
    const link = await api.ask("POST", `/teams/${other}/members/${id}/sign-in-link`, { token: rootOfOther });
    const { code } = link.json;
    const inspected = await request(api, "POST", "/auth/links/inspect", { body: { code } });
    expect(inspected.json.password).toBe("enter");
    const taken = await request(api, "POST", "/auth/links/redeem", { body: { code, password: "mine instead of it" } });
    expect([taken.status, taken.json.code]).toEqual([400, "auth.sign_in_failed"]);
    // A user with a password accepts the invitation by entering it, and may then use the team.
    const accepted = await request(api, "POST", "/auth/links/redeem", { body: { code, password: PASSWORD } });
    expect(accepted.json.session.teams.map((team: { name: string }) => team.name)).toEqual(["Other", "Own"]);
  });

  test("of a team makes no password for a user whom other teams let in", async () => {
    const other = api.otherTeam.place.server.team_id;
    // The instance's own user owns every team here and has no password.
    const link = await api.ask("POST", `/teams/${other}/members/0/sign-in-link`, { token: await tokenOf(other) });
    const taken = await request(api, "POST", "/auth/links/redeem", {
      body: { code: link.json.code, password: PASSWORD },
    });
    expect([taken.status, taken.json.code]).toEqual([400, "auth.link_invalid"]);
  });

  test("of a team makes no password for a user whom another team added first, as long as nobody opened that one's", async () => {
    const first = api.otherTeam.place.server.team_id;
    const created = await api.ask("POST", "/teams", { token: api.rootToken, body: { name: "Second" } });
    const second = created.json.id;
    const codes: string[] = [];
    for (const team of [first, second]) {
      const body = { email: "heidi@example.com" };
      const { json } = await api.ask("POST", `/teams/${team}/members`, { token: api.rootToken, body });
      const path = `/teams/${team}/members/${json.id}/sign-in-link`;
      codes.push((await api.ask("POST", path, { token: await tokenOf(team) })).json.code);
    }
    const opened = (code = "", password = PASSWORD) =>
      request(api, "POST", "/auth/links/redeem", { body: { code, password } });
    const refused = await opened(codes[1], "chosen by the second team");
    expect([refused.status, refused.json.code]).toEqual([400, "auth.link_invalid"]);
    expect(refused.json.message).toContain("another team added you first");
    expect((await opened(codes[0])).status).toBe(201);
    const accepted = await opened(codes[1]);
    expect(accepted.json.session.teams.map((team: { name: string }) => team.name)).toEqual(["Other", "Second"]);
  });

  test("of who runs the instance signs its user in, and may replace the password", async () => {
    const first = await api.ask("POST", "/auth/links", { token: api.rootToken });
    const chosen = await request(api, "POST", "/auth/links/redeem", {
      body: { code: first.json.code, password: PASSWORD },
    });
    expect(chosen.json.session.user.id).toBe(0);
    const browser = browserOf(api, chosen);
    const second = await api.ask("POST", "/auth/links", { token: api.rootToken });
    const kept = await request(api, "POST", "/auth/links/redeem", { body: { code: second.json.code } });
    expect([kept.status, (await browser.ask("GET", "/auth/session")).status]).toEqual([201, 200]);
    const third = await api.ask("POST", "/auth/links", { token: api.rootToken });
    await request(api, "POST", "/auth/links/redeem", { body: { code: third.json.code, password: `${PASSWORD}!` } });
    expect((await browser.ask("GET", "/auth/session")).status).toBe(401);
  });

  test("is made by no token that may do less than its user", async () => {
    const token = await api.tokenWith("read", "write", "deploy");
    expect((await api.ask("POST", "/auth/links", { token })).status).toBe(403);
  });

  async function tokenOf(teamId: number): Promise<string> {
    const body = { name: "root", abilities: ["root"], team_id: teamId, user_id: 0 };
    return (await api.ask("POST", "/tokens", { token: api.rootToken, body })).json.token;
  }
});

describe("a session", () => {
  test("has the abilities of its user's role", async () => {
    const { browser } = await person(api, "member");
    const { json } = await browser.ask("GET", "/auth/session");
    expect([json.team.role, json.abilities]).toEqual(["member", ["read"]]);
    expect((await browser.ask("GET", "/projects")).status).toBe(200);
    expect((await browser.ask("POST", "/projects", { name: "Mine" })).status).toBe(403);
  });

  test("works by tRPC too, and signs in there", async () => {
    const { email } = await person(api);
    const signedIn = await request(api, "POST", "/trpc/auth.signIn", { body: { email, password: PASSWORD } });
    const { data } = signedIn.json.result;
    const headers = { ...OWN_PAGE, cookie: cookieOf(signedIn), "x-berth-session-key": data.key };
    const { json } = await request(api, "GET", "/trpc/auth.current", { headers });
    expect(json.result.data.user.email).toBe(email);
    const out = await request(api, "POST", "/trpc/auth.signOut", { headers, body: {} });
    expect(out.headers["set-cookie"]).toMatch(/^berth_session=; Path=\/; Max-Age=0/);
    expect((await request(api, "GET", "/trpc/auth.current", { headers })).status).toBe(401);
  });

  test("is neither of its halves, nor a token", async () => {
    const { browser } = await person(api);
    const { cookie, "x-berth-session-key": key, ...page } = browser.headers;
    const halves = [
      { ...page, cookie },
      { ...page, "x-berth-session-key": key },
    ];
    const whole = cookie?.split("=")[1]?.split(".");
    const asToken = { ...page, authorization: `Bearer ${whole?.[0]}|${whole?.[1]}${key}` };
    for (const headers of [...halves, asToken]) {
      expect((await request(api, "GET", "/projects", { headers })).status).toBe(401);
    }
    const [id, secret] = api.token.split("|");
    const asCookie = { ...page, cookie: `berth_session=${id}.${secret?.slice(0, 10)}` };
    const headers = { ...asCookie, "x-berth-session-key": secret?.slice(10) };
    expect((await request(api, "GET", "/projects", { headers })).status).toBe(401);
  });

  test.each([
    ["a page of another site", { origin: "https://evil.test", "sec-fetch-site": "cross-site" }, 401, 401],
    [
      "a page on another port of the host",
      { origin: "http://berth.test:8080", "sec-fetch-site": "same-site" },
      401,
      401,
    ],
    ["another port, where the browser names no site", { origin: "http://berth.test:8080" }, 401, 401],
    ["a page without an origin of its own", { origin: "null" }, 401, 401],
    ["a browser that says nothing of its page", {}, 200, 401],
    ["its own page over plain http", { origin: "http://berth.test" }, 200, 201],
  ])("by %s", async (_, page, reads, writes) => {
    const { browser } = await person(api);
    const { origin: _origin, "sec-fetch-site": _site, ...session } = browser.headers;
    const headers = { ...session, ...page };
    const read = await request(api, "GET", "/projects", { headers });
    const written = await request(api, "POST", "/projects", { headers, body: { name: "Mine" } });
    expect([read.status, written.status]).toEqual([reads, writes]);
  });

  test("is not begun by a foreign page", async () => {
    const { email } = await person(api);
    const { status, json, headers } = await signIn(api, email, PASSWORD, { ...OWN_PAGE, origin: "https://evil.test" });
    expect([status, json.code, headers["set-cookie"]]).toEqual([403, "auth.foreign_page", undefined]);
  });

  test("is listed with its device and address, and ended one by one or all", async () => {
    const { email, browser } = await person(api);
    const headers = { ...OWN_PAGE, "user-agent": "Lynx/2.9\r\u00e9" };
    const others = [await signIn(api, email, PASSWORD, headers), await signIn(api, email)].map((one) =>
      browserOf(api, one),
    );
    const { json } = await browser.ask("GET", "/auth/sessions");
    expect(json).toMatchObject([
      { is_current: false },
      { device: "Lynx/2.9", address: "127.0.0.1", is_current: false },
      { is_current: true },
    ]);
    expect((await browser.ask("POST", "/auth/sessions/revoke", { id: json[1].id })).status).toBe(200);
    const alive = async () => Promise.all(others.map(async (one) => (await one.ask("GET", "/projects")).status));
    expect(await alive()).toEqual([401, 200]);
    await browser.ask("POST", "/auth/sessions/revoke-others", {});
    expect(await alive()).toEqual([401, 401]);
    expect((await browser.ask("GET", "/auth/sessions")).json).toHaveLength(1);
    // Sessions of other users are not found.
    const stranger = await person(api);
    const own = (await browser.ask("GET", "/auth/session")).json.session.id;
    expect((await stranger.browser.ask("POST", "/auth/sessions/revoke", { id: own })).status).toBe(404);
  });

  test("stands in no list of tokens, and is revoked by none", async () => {
    const { browser } = await person(api);
    const { id } = (await browser.ask("GET", "/auth/session")).json.session;
    const { json } = await api.ask("GET", "/tokens");
    expect(json.map((token: { id: number }) => token.id)).not.toContain(id);
    expect((await api.ask("DELETE", `/tokens/${id}`, { token: api.rootToken })).status).toBe(404);
  });

  test("changes its user's name and address, which they sign in with from then on", async () => {
    const { id, email, browser } = await person(api);
    const other = await person(api);
    const fresh = `new-${email}`;
    const changed = await browser.ask("PATCH", "/auth/user", { name: "Ada L.", email: fresh.toUpperCase() });
    expect(changed.json.user).toEqual({ id, name: "Ada L.", email: fresh });
    expect([(await signIn(api, email)).status, (await signIn(api, fresh)).status]).toEqual([400, 201]);
    const { json } = await browser.ask("GET", "/events?type=user.updated");
    expect(json.events[0]).toMatchObject({
      payload: { user_id: id, fields: ["name", "email"] },
      actor: { type: "session", user_id: id },
    });
    await browser.ask("PATCH", "/auth/user", { name: "Ada" });
    const { events } = (await browser.ask("GET", "/events?type=user.updated")).json;
    expect(events[0].actor.name).toBe("Ada L.");
    const taken = await browser.ask("PATCH", "/auth/user", { email: other.email });
    expect([taken.status, taken.json.code]).toEqual([409, "resource.already_exists"]);
    expect((await browser.ask("PATCH", "/auth/user", { email: "nobody" })).status).toBe(422);
  });

  test("ends when the password changes, but for the one that changed it", async () => {
    const { email, browser } = await person(api);
    const other = browserOf(api, await signIn(api, email));
    const wrong = await browser.ask("PUT", "/auth/password", { current_password: "x", password: `${PASSWORD}!` });
    expect([wrong.status, wrong.json.code]).toEqual([400, "auth.sign_in_failed"]);
    const change = { current_password: PASSWORD, password: `${PASSWORD}!` };
    expect((await browser.ask("PUT", "/auth/password", change)).status).toBe(200);
    const statuses = [
      await browser.ask("GET", "/projects"),
      await other.ask("GET", "/projects"),
      await signIn(api, email),
    ];
    expect(statuses.map(({ status }) => status)).toEqual([200, 401, 400]);
    expect((await signIn(api, email, `${PASSWORD}!`)).status).toBe(201);
  });

  test("ends when the user's role changes or they leave the team", async () => {
    const { id, email, teamId, browser } = await person(api, "admin");
    const path = `/teams/${teamId}/members/${id}`;
    await api.ask("PATCH", path, { token: api.rootToken, body: { role: "member" } });
    expect((await browser.ask("GET", "/projects")).status).toBe(401);
    const again = browserOf(api, await signIn(api, email));
    await api.ask("DELETE", path, { token: api.rootToken });
    expect((await again.ask("GET", "/projects")).status).toBe(401);
  });

  test("works while the API is switched off for tokens", async () => {
    const { browser } = await person(api);
    await api.ask("POST", "/disable", { token: api.rootToken });
    try {
      expect((await api.ask("GET", "/projects")).status).toBe(403);
      expect((await browser.ask("GET", "/projects")).status).toBe(200);
    } finally {
      await api.ask("POST", "/enable", { token: api.rootToken });
    }
  });

  test("switches to teams that its user accepted, and to no other", async () => {
    const { id, email, browser } = await person(api);
    const other = api.otherTeam.place.server.team_id;
    await api.ask("POST", `/teams/${other}/members`, { token: api.rootToken, body: { email } });
    expect((await browser.ask("POST", "/auth/team", { team_id: other })).status).toBe(404);
    const link = await api.ask("POST", `/teams/${other}/members/${id}/sign-in-link`, { token: api.rootToken });
    await request(api, "POST", "/auth/links/redeem", { body: { code: link.json.code } });
    const switched = await browser.ask("POST", "/auth/team", { team_id: other });
    expect(switched.json.team).toMatchObject({ id: other, role: "member" });
    expect((await browser.ask("GET", "/teams/current")).json.name).toBe("Other");
    expect((await browser.ask("POST", "/auth/team", { team_id: 0 })).status).toBe(404);
  });

  test("is over https a cookie that only https and this host send back", async () => {
    const { email } = await person(api);
    const secure = await served({}, { publicUrl: "https://berth.test" });
    try {
      const { id } = await secure.db.stores().members.insert(0, { email, name: "Ada", role: "owner" });
      const link = await secure.ask("POST", `/teams/0/members/${id}/sign-in-link`, { token: secure.rootToken });
      const page = { host: "berth.test", origin: "https://berth.test", "sec-fetch-site": "same-origin" };
      const body = { code: link.json.code, password: PASSWORD };
      const signedIn = await request(secure, "POST", "/auth/links/redeem", { headers: page, body });
      expect(signedIn.headers["set-cookie"]).toMatch(/^__Host-berth_session=.*; Path=\/; .*; Secure$/);
      expect(link.json.url).toBe(`https://berth.test/sign-in#code=${link.json.code}`);
    } finally {
      await secure.close();
    }
  });
});

describe("the password again", () => {
  const setConfirmedAt = (id: number, minutesAgo: number) =>
    api.db.database.kysely
      .updateTable("token")
      .set({ confirmed_at: new Date(Date.now() - minutesAgo * 60_000) })
      .where("id", "=", id)
      .execute();

  test("is due after 15 minutes for secrets and dangerous acts", async () => {
    const { browser, id, teamId } = await person(api);
    const { database, schedule, execution } = await testBackup(api.db, api.stores, api.place);
    const backup = `/databases/${database.uuid}/backups/${schedule.uuid}/executions/${execution.uuid}`;
    const uuid = await createdApplication(api);
    await api.ask("POST", `/applications/${uuid}/envs`, { body: { key: "SECRET", value: "hidden" } });
    const { session, confirmed_until } = (await browser.ask("GET", "/auth/session")).json;
    expect(confirmed_until).not.toBeNull();
    const seen = async () => (await browser.ask("GET", `/applications/${uuid}/envs`)).json[0].value;
    expect(await seen()).toBe("hidden");

    await setConfirmedAt(session.id, 16);
    expect(await seen()).toBeUndefined();
    const token = { name: "Mine", abilities: ["root"] };
    const other = await person(api);
    const theirs = (await api.ask("POST", "/tokens", { body: { name: "Theirs", abilities: ["read"] } })).json;
    for (const refused of [
      await browser.ask("DELETE", `/applications/${uuid}`),
      await browser.ask("POST", "/tokens", token),
      await browser.ask("POST", "/auth/links", {}),
      await browser.ask("POST", `/teams/${teamId}/members`, { email: "eve@example.com", role: "admin" }),
      await browser.ask("PATCH", `/teams/${teamId}/members/${id}`, { role: "admin" }),
      await browser.ask("POST", `${backup}/restore`, {}),
      await browser.ask("GET", `${backup}/download`),
      await browser.ask("PATCH", "/auth/user", { email: "other@example.com" }),
      await browser.ask("PATCH", `/teams/${teamId}`, { second_factor_required: false }),
      await browser.ask("DELETE", `/teams/${teamId}/members/${other.id}`),
      await browser.ask("DELETE", `/tokens/${theirs.id}`),
      await browser.ask("POST", `/databases/${database.uuid}/client`, { statements: "select 1" }),
    ]) {
      expect([refused.status, refused.json.code]).toEqual([403, "auth.confirmation_required"]);
    }
    const operator = await person(api, "owner", ROOT_TEAM_ID);
    const { session: ofRoot } = (await operator.browser.ask("GET", "/auth/session")).json;
    await setConfirmedAt(ofRoot.id, 16);
    for (const refused of [
      await operator.browser.ask("POST", "/disable", {}),
      await operator.browser.ask("PATCH", "/settings", { reported_version: "5.0.0" }),
    ]) {
      expect([refused.status, refused.json.code]).toEqual([403, "auth.confirmation_required"]);
    }
    expect((await browser.ask("POST", "/auth/confirm", { password: "wrong" })).status).toBe(400);
    const confirmed = await browser.ask("POST", "/auth/confirm", { password: PASSWORD });
    expect(confirmed.json.confirmed_until).not.toBeNull();
    expect(await seen()).toBe("hidden");
    const made = await browser.ask("POST", "/tokens", token);
    expect([made.status, made.json.expires_at]).toEqual([201, null]);
    expect((await browser.ask("DELETE", `/applications/${uuid}`)).status).toBe(200);
  });
});

describe("guesses", () => {
  let now = new Date();
  const clock = { now: () => now };
  const compared: (string | null)[] = [];
  const passwords: typeof testPasswords = {
    ...testPasswords,
    async verify(password, hash) {
      compared.push(hash);
      return await testPasswords.verify(password, hash);
    },
  };
  let guessed: Served;
  beforeAll(async () => {
    guessed = await served({ clock, passwords, tries: signInTries(clock) });
  });
  afterAll(() => guessed.close());

  test("are answered the same for known and unknown addresses, with the same work", async () => {
    const { email } = await person(guessed);
    compared.length = 0;
    const known = await signIn(guessed, email, "wrong");
    const unknown = await signIn(guessed, "nobody@example.com", "wrong");
    const { request_id: _known, ...told } = known.json;
    expect([known.status, told.code]).toEqual([400, "auth.sign_in_failed"]);
    expect([unknown.status, unknown.json]).toEqual([400, { ...told, request_id: unknown.json.request_id }]);
    expect(compared).toEqual([expect.any(String), null]);
  });

  test("have to wait ever longer, for known and unknown addresses, and hold up nobody elsewhere", async () => {
    const { email } = await person(guessed);
    for (const address of [email, "guessed@example.com"]) {
      const statuses = [];
      for (let n = 0; n < 6; n++) statuses.push((await signIn(guessed, address, "wrong")).status);
      expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
    }
    const retryAfter = async (password: string) => (await signIn(guessed, email, password)).headers["retry-after"];
    expect(await retryAfter(PASSWORD)).toBe("1");
    now = new Date(now.getTime() + 1000);
    expect((await signIn(guessed, email, "wrong")).status).toBe(400);
    expect(await retryAfter(PASSWORD)).toBe("2");
    const elsewhere = await guessed.app.inject({
      method: "POST",
      url: "/api/v1/auth/sign-in",
      remoteAddress: "192.0.2.8",
      headers: { ...OWN_PAGE, "content-type": "application/json" },
      payload: JSON.stringify({ email, password: PASSWORD }),
    });
    expect(elsewhere.statusCode).toBe(201);
    now = new Date(now.getTime() + 2000);
    expect((await signIn(guessed, email)).status).toBe(201);
  });

  test("of many accounts from one address end, too", async () => {
    now = new Date(now.getTime() + 3_600_000);
    const statuses = [];
    for (let n = 0; n < 51; n++) statuses.push((await signIn(guessed, `user${n}@example.com`, "wrong")).status);
    expect(statuses.slice(49)).toEqual([400, 429]);
  });
});
