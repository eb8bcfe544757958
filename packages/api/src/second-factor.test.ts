import { signInTries } from "@berth/control";
import { Secret, TOTP } from "otpauth";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { browserOf, OWN_PAGE, PASSWORD, person, request, type TestBrowser } from "./browser.fixture.ts";

let now = new Date();
const clock = { now: () => now };
const later = (seconds: number) => {
  now = new Date(now.getTime() + seconds * 1000);
};

let api: Served;
beforeAll(async () => {
  api = await served({ clock, tries: signInTries(clock) });
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

const codeOf = (secret: string, at = now) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() });

async function enabled(browser: TestBrowser): Promise<{ secret: string; codes: string[] }> {
  const { secret } = (await browser.ask("POST", "/auth/second-factor", {})).json;
  const { status, json } = await browser.ask("POST", "/auth/second-factor/enable", { code: codeOf(secret) });
  expect([status, json.recovery_codes.length]).toEqual([200, 10]);
  later(30);
  return { secret, codes: json.recovery_codes };
}

const signIn = (email: string, code?: string, password = PASSWORD) =>
  request(api, "POST", "/auth/sign-in", { body: { email, password, ...(code !== undefined && { code }) } });

/** Status, and the code of an error. */
const outcome = ({ status, json }: { readonly status: number; readonly json: { readonly code?: string } }) =>
  json.code === undefined ? status : json.code;

describe("a second factor", () => {
  test("is asked for after the password, once it was confirmed by a code", async () => {
    const { email, browser } = await person(api);
    const begun = await browser.ask("POST", "/auth/second-factor", {});
    expect(begun.json.uri).toContain(`otpauth://totp/Berth:${encodeURIComponent(email)}?issuer=Berth&secret=`);
    expect(outcome(await browser.ask("POST", "/auth/second-factor/enable", { code: "000000" }))).toBe(
      "auth.second_factor_failed",
    );
    expect(outcome(await signIn(email))).toBe(201);

    const { secret } = await enabled(browser);
    expect((await browser.ask("GET", "/auth/second-factor")).json).toMatchObject({
      is_enabled: true,
      recovery_codes_left: 10,
    });
    expect(outcome(await signIn(email))).toBe("auth.second_factor_required");
    expect(outcome(await signIn(email, codeOf(secret)))).toBe(201);
  });

  test("changes nothing of what is answered without the right password", async () => {
    const { email, browser } = await person(api);
    const { secret } = await enabled(browser);
    const answers = [
      await signIn(email, undefined, "wrong"),
      await signIn(email, codeOf(secret), "wrong"),
      await signIn("nobody@example.com", codeOf(secret)),
    ].map(({ status, json: { request_id: _, ...told } }) => ({ status, told }));
    expect(answers[0]).toMatchObject({ status: 400, told: { code: "auth.sign_in_failed" } });
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    // The code was not looked at, so it is still good.
    expect(outcome(await signIn(email, codeOf(secret)))).toBe(201);
  });

  test("counts each code once, also when it is sent twice at the same time", async () => {
    const { email, browser } = await person(api);
    const { secret } = await enabled(browser);
    const code = codeOf(secret);
    const twice = await Promise.all([signIn(email, code), signIn(email, code)]);
    expect(twice.map(outcome).sort()).toEqual([201, "auth.second_factor_failed"]);
    // One of before is no use either, although clocks that are off are tolerated.
    expect(outcome(await signIn(email, codeOf(secret, new Date(now.getTime() - 30_000))))).toBe(
      "auth.second_factor_failed",
    );
    expect(outcome(await signIn(email, codeOf(secret, new Date(now.getTime() + 30_000))))).toBe(201);
    later(3600);
    expect(outcome(await signIn(email, code))).toBe("auth.second_factor_failed");
  });

  test("is replaced by each recovery code once, and by none of before the last ones", async () => {
    const { email, browser } = await person(api);
    const { codes } = await enabled(browser);
    const [first = "", second = ""] = codes;
    expect(first).toMatch(/^([A-Z2-7]{4}-){3}[A-Z2-7]{4}$/);
    const twice = await Promise.all([signIn(email, first), signIn(email, first.toLowerCase().replaceAll("-", " "))]);
    expect(twice.map(outcome).sort()).toEqual([201, "auth.second_factor_failed"]);
    expect((await browser.ask("GET", "/auth/second-factor")).json.recovery_codes_left).toBe(9);
    const renewed = await browser.ask("POST", "/auth/second-factor/recovery-codes", {});
    expect(outcome(await signIn(email, second))).toBe("auth.second_factor_failed");
    expect(outcome(await signIn(email, renewed.json.recovery_codes[0]))).toBe(201);
  });

  test("is asked for by a sign-in link, too", async () => {
    const { id, email, teamId, browser } = await person(api);
    const { secret } = await enabled(browser);
    const path = `/teams/${teamId}/members/${id}/sign-in-link`;
    const { code } = (await api.ask("POST", path, { token: api.rootToken })).json;
    const redeem = (fields: object) => request(api, "POST", "/auth/links/redeem", { body: { code, ...fields } });
    expect(outcome(await redeem({}))).toBe("auth.second_factor_required");
    expect(outcome(await redeem({ password: `${PASSWORD}!` }))).toBe("auth.second_factor_required");
    expect(outcome(await redeem({ second_factor_code: "000000" }))).toBe("auth.second_factor_failed");
    expect(outcome(await redeem({ second_factor_code: codeOf(secret) }))).toBe(201);
    later(30);
    // The password is the old one.
    expect(outcome(await signIn(email, codeOf(secret)))).toBe(201);
  });

  test("ends the sessions that were begun without it", async () => {
    const { email, browser } = await person(api);
    const other = browserOf(api, await signIn(email));
    await enabled(browser);
    expect([(await browser.ask("GET", "/projects")).status, (await other.ask("GET", "/projects")).status]).toEqual([
      200, 401,
    ]);
  });

  test("is turned off only after the password was given lately", async () => {
    const { email, browser } = await person(api);
    await enabled(browser);
    later(16 * 60);
    for (const path of ["/auth/second-factor", "/auth/second-factor/disable", "/auth/second-factor/recovery-codes"]) {
      expect(outcome(await age(browser, path))).toBe("auth.confirmation_required");
    }
    await browser.ask("POST", "/auth/confirm", { password: PASSWORD });
    expect(outcome(await browser.ask("POST", "/auth/second-factor", {}))).toBe("resource.state");
    expect(outcome(await browser.ask("POST", "/auth/second-factor/disable", {}))).toBe(200);
    expect(outcome(await signIn(email))).toBe(201);
    expect(outcome(await browser.ask("POST", "/auth/second-factor/disable", {}))).toBe("resource.state");

    /** As if the password had been given 16 minutes ago: admission has a clock of its own here. */
    async function age({ ask }: TestBrowser, path: string) {
      const { session } = (await ask("GET", "/auth/session")).json;
      await api.db.database.kysely
        .updateTable("token")
        .set({ confirmed_at: new Date(Date.now() - 16 * 60_000) })
        .where("id", "=", session.id)
        .execute();
      return ask("POST", path, {});
    }
  });

  test("is a session's alone: a token has none", async () => {
    expect(outcome(await api.ask("GET", "/auth/second-factor"))).toBe("auth.session_required");
    expect(outcome(await api.ask("POST", "/auth/second-factor", { body: {} }))).toBe("auth.session_required");
  });

  test("and its codes are sealed or hashed where they are stored", async () => {
    const { id, browser } = await person(api);
    const { secret, codes } = await enabled(browser);
    const { kysely } = api.db.database;
    const factor = await kysely.selectFrom("second_factor").selectAll().where("user_id", "=", id).execute();
    const stored = await kysely.selectFrom("recovery_code").selectAll().where("user_id", "=", id).execute();
    const text = JSON.stringify([stored, factor.map(({ secret: sealed }) => Buffer.from(sealed).toString("latin1"))]);
    expect(stored).toHaveLength(10);
    expect(
      [secret, ...codes, ...codes.map((code) => code.replaceAll("-", ""))].filter((one) => text.includes(one)),
    ).toEqual([]);
  });
});

describe("guesses of codes", () => {
  test("are limited by account from wherever, to who knows the password alone", async () => {
    const { email, browser } = await person(api);
    const { secret } = await enabled(browser);
    const from = async (address: string, code: string) => {
      const response = await api.app.inject({
        method: "POST",
        url: "/api/v1/auth/sign-in",
        remoteAddress: address,
        headers: { ...OWN_PAGE, "content-type": "application/json" },
        payload: JSON.stringify({ email, password: PASSWORD, code }),
      });
      return outcome({ status: response.statusCode, json: response.json() });
    };
    for (let n = 0; n < 20; n++) expect(await from(`192.0.2.${n}`, "000000")).toBe("auth.second_factor_failed");
    expect(await from("192.0.2.99", codeOf(secret))).toBe("rate.limited");
    later(900);
    expect(await from("192.0.2.99", codeOf(secret))).toBe(201);
  });

  test("cost as wrong passwords do, and a password without a code costs nothing", async () => {
    const { email, browser } = await person(api);
    const { secret } = await enabled(browser);
    for (let n = 0; n < 8; n++) expect(outcome(await signIn(email))).toBe("auth.second_factor_required");
    for (let n = 0; n < 5; n++) expect(outcome(await signIn(email, "000000"))).toBe("auth.second_factor_failed");
    expect(outcome(await signIn(email, codeOf(secret)))).toBe("rate.limited");
    later(1);
    expect(outcome(await signIn(email, codeOf(secret)))).toBe(201);
  });
});

describe("a lost second factor", () => {
  const reset = (teamId: number, id: number, token: string) =>
    api.ask("DELETE", `/teams/${teamId}/members/${id}/second-factor`, { token });

  test("is taken away by an owner of the user's only team, who is recorded", async () => {
    const { id, email, teamId, browser } = await person(api, "member");
    await enabled(browser);
    const { browser: admin } = await person(api, "admin");
    const { browser: owner } = await person(api, "owner");
    const path = `/teams/${teamId}/members/${id}/second-factor`;
    expect(outcome(await admin.ask("DELETE", path))).toBe("auth.missing_role");
    expect(outcome(await owner.ask("DELETE", path))).toBe(200);
    expect(outcome(await signIn(email))).toBe(201);
    expect(outcome(await owner.ask("DELETE", path))).toBe("resource.state");
    const { events } = (await owner.ask("GET", "/events?type=member.second_factor_reset")).json;
    expect(events[0]).toMatchObject({ payload: { user_id: id, name: "Ada" }, actor: { type: "session", name: "Ada" } });
  });

  test("of a user of several teams is taken away by who runs the instance alone", async () => {
    const { id, email, teamId, browser } = await person(api);
    await enabled(browser);
    const other = api.otherTeam.place.server.team_id;
    await api.db.stores(0).members.insert(other, { email, name: "Ada", role: "member" });
    expect(outcome(await reset(other, id, api.otherTeam.powerfulToken))).toBe("resource.state");
    expect(outcome(await reset(teamId, id, api.otherTeam.powerfulToken))).toBe("resource.not_found");
    expect(outcome(await reset(teamId, id, api.rootToken))).toBe(200);
  });
});

test("a session's begin names who began it", async () => {
  const { browser } = await person(api);
  const { user } = (await browser.ask("GET", "/auth/session")).json;
  const { events } = (await browser.ask("GET", "/events?type=session.created")).json;
  expect(events[0]).toMatchObject({
    payload: { user_id: user.id },
    actor: { type: "session", name: user.name, user_id: user.id },
  });
});

describe("a required second factor", () => {
  const requireIn = (teamId: number, second_factor_required: boolean) =>
    api.ask("PATCH", `/teams/${teamId}`, { token: api.rootToken, body: { second_factor_required } });

  test("of a team lets sessions without one set it up, and nothing else", async () => {
    const { email, teamId, browser } = await person(api);
    expect((await browser.ask("GET", "/auth/session")).json.needs_second_factor).toBe(false);
    expect((await requireIn(teamId, true)).json.second_factor_required).toBe(true);
    try {
      for (const [method, path] of [
        ["GET", "/projects"],
        ["POST", "/tokens"],
        ["POST", "/auth/links"],
        ["GET", "/auth/sessions"],
        ["GET", "/events/follow"],
      ] as const) {
        expect(outcome(await browser.ask(method, path, method === "POST" ? {} : undefined))).toBe(
          "auth.second_factor_missing",
        );
      }
      const signedIn = await signIn(email);
      expect(signedIn.json.session.needs_second_factor).toBe(true);
      expect((await browser.ask("GET", "/auth/session")).json.needs_second_factor).toBe(true);
      await enabled(browser);
      expect((await browser.ask("GET", "/auth/session")).json.needs_second_factor).toBe(false);
      expect((await browser.ask("GET", "/projects")).status).toBe(200);
      // Programs have no app.
      expect((await api.ask("GET", "/projects")).status).toBe(200);
      await browser.ask("POST", "/auth/second-factor/disable", {});
      expect(outcome(await browser.ask("GET", "/projects"))).toBe("auth.second_factor_missing");
    } finally {
      await requireIn(teamId, false);
    }
    expect((await browser.ask("GET", "/projects")).status).toBe(200);
  });

  test("of another team is none of this one's", async () => {
    const other = api.otherTeam.place.server.team_id;
    const { browser } = await person(api);
    await requireIn(other, true);
    expect((await browser.ask("GET", "/projects")).status).toBe(200);
    expect(outcome(await browser.ask("PATCH", `/teams/${other}`, { second_factor_required: false }))).toBe(
      "resource.not_found",
    );
    await requireIn(other, false);
  });

  test("of the instance counts in all teams, and only the root team sets it", async () => {
    const { browser } = await person(api);
    const set = (second_factor_required: boolean, token = api.rootToken) =>
      api.ask("PATCH", "/instance/sign-in", { token, body: { second_factor_required } });
    expect(outcome(await set(true, api.otherTeam.powerfulToken))).toBe("auth.root_team_only");
    expect((await set(true)).json).toEqual({ second_factor_required: true });
    expect(outcome(await browser.ask("GET", "/projects"))).toBe("auth.second_factor_missing");
    expect((await set(false)).json).toEqual({ second_factor_required: false });
    expect((await browser.ask("GET", "/projects")).status).toBe(200);
  });

  test("of a team is an owner's to decide, by their password given lately", async () => {
    const { teamId, browser: admin } = await person(api, "admin");
    const body = { second_factor_required: true };
    expect(outcome(await admin.ask("PATCH", `/teams/${teamId}`, body))).toBe("auth.missing_role");
    const { browser: owner } = await person(api, "owner");
    expect(outcome(await owner.ask("PATCH", `/teams/${teamId}`, { name: "Own" }))).toBe(200);
    const { events } = (await owner.ask("GET", "/events?type=team.updated")).json;
    expect(events[0].payload).toEqual({ id: teamId, name: "Own", fields: ["name"] });
  });
});
