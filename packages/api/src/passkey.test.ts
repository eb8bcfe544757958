import { signInTries } from "@berth/control";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { passkeyVerifier } from "@berth/identity";
import { type TestPasskey, testPasskey } from "@berth/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { browserOf, OWN_PAGE, PASSWORD, person, request, signIn, type TestBrowser } from "./browser.fixture.ts";

let now = new Date();
const clock = { now: () => now };

let api: Served;
beforeAll(async () => {
  api = await served({ clock, tries: signInTries(clock), passkeyVerifier: passkeyVerifier() });
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
});

const ORIGIN = OWN_PAGE.origin;
/** A page of an application on another port of the dashboard's host name, which may use the same passkeys. */
const NEIGHBOUR = { host: "berth.test:3000", origin: "http://berth.test:3000", "sec-fetch-site": "same-origin" };

/** Status, or the code of an error. */
const outcome = ({ status, json }: { readonly status: number; readonly json: { readonly code?: string } }) =>
  json.code ?? status;

async function added(browser: TestBrowser, passkey = testPasskey(), origin = ORIGIN) {
  const begun = await browser.ask("POST", "/auth/passkeys/begin", {});
  expect(outcome(begun)).toBe(201);
  const credential = passkey.created(begun.json, origin);
  return { passkey, answer: await browser.ask("POST", "/auth/passkeys", { name: "Laptop", credential }) };
}

const beginSignIn = async (headers: object = OWN_PAGE) =>
  (await request(api, "POST", "/auth/passkeys/sign-in/begin", { headers, body: {} })).json;

const sendSignIn = (credential: object, headers: object = OWN_PAGE) =>
  request(api, "POST", "/auth/passkeys/sign-in", { headers, body: { credential } });

const signInWith = async (passkey: TestPasskey) => sendSignIn(passkey.used(await beginSignIn(), ORIGIN));

async function confirmWith({ ask }: TestBrowser, passkey: TestPasskey) {
  const begun = await ask("POST", "/auth/passkeys/confirm/begin", {});
  if (begun.status !== 201) return begun;
  return ask("POST", "/auth/passkeys/confirm", { credential: passkey.used(begun.json, ORIGIN) });
}

/** As if the session had been confirmed 16 minutes ago: admission has a clock of its own here. */
async function forgetConfirmation({ ask }: TestBrowser) {
  const { session } = (await ask("GET", "/auth/session")).json;
  const confirmed_at = new Date(Date.now() - 16 * 60_000);
  await api.db.database.kysely.updateTable("token").set({ confirmed_at }).where("id", "=", session.id).execute();
}

describe("a passkey", () => {
  test("signs its user in without address, password or code, once it was added", async () => {
    const { id, browser } = await person(api);
    const { passkey, answer } = await added(browser);
    expect(answer.json).toMatchObject({ name: "Laptop", origin: ORIGIN, is_synced: false, last_used_at: null });
    const begun = await beginSignIn();
    expect(begun).toMatchObject({ rpId: "berth.test", userVerification: "required", allowCredentials: [] });
    const signedIn = await sendSignIn(passkey.used(begun, ORIGIN));
    expect(signedIn.json.session.user.id).toBe(id);
    const other = browserOf(api, signedIn);
    expect((await other.ask("GET", "/projects")).status).toBe(200);
    const [listed] = (await other.ask("GET", "/auth/passkeys")).json;
    expect(listed.last_used_at).not.toBeNull();
  });

  test("is refused a second time for the same challenge, also at the same moment", async () => {
    const { browser } = await person(api);
    const { passkey } = await added(browser);
    const credential = passkey.used(await beginSignIn(), ORIGIN);
    const twice = await Promise.all([sendSignIn(credential), sendSignIn(credential)]);
    expect(twice.map(outcome).sort()).toEqual([201, "auth.passkey_failed"]);
    expect(outcome(await sendSignIn(credential))).toBe("auth.passkey_failed");
    // Another answer to a challenge that was used is none either, nor one to a challenge that nobody sent.
    const challenge = await beginSignIn();
    expect(outcome(await sendSignIn(passkey.used(challenge, ORIGIN)))).toBe(201);
    expect(outcome(await sendSignIn(passkey.used(challenge, ORIGIN)))).toBe("auth.passkey_failed");
    const own = { rpId: "berth.test", challenge: "A".repeat(44) };
    expect(outcome(await sendSignIn(passkey.used(own, ORIGIN)))).toBe("auth.passkey_failed");
  });

  test("is refused when its challenge is older than five minutes", async () => {
    const { browser } = await person(api);
    const { passkey } = await added(browser);
    const begun = await beginSignIn();
    const { kysely } = api.db.database;
    await kysely
      .updateTable("passkey_challenge")
      .set({ expires_at: new Date(0) })
      .execute();
    expect(outcome(await sendSignIn(passkey.used(begun, ORIGIN)))).toBe("auth.passkey_failed");
  });

  test("works for the page that made it alone, not for another port of its host name", async () => {
    const { browser } = await person(api);
    const { passkey } = await added(browser);
    // Forwarded by the neighbour to the dashboard, as its own page would send it, and as the neighbour's.
    const stolen = passkey.used(await beginSignIn(), NEIGHBOUR.origin);
    expect(outcome(await sendSignIn(stolen))).toBe("auth.passkey_failed");
    const begun = await beginSignIn(NEIGHBOUR);
    expect(outcome(await sendSignIn(passkey.used(begun, NEIGHBOUR.origin), NEIGHBOUR))).toBe("auth.passkey_failed");
    const foreign = { ...OWN_PAGE, origin: "http://evil.test" };
    expect(outcome(await request(api, "POST", "/auth/passkeys/sign-in/begin", { headers: foreign, body: {} }))).toBe(
      "auth.foreign_page",
    );
    const { origin: _, ...withoutOrigin } = OWN_PAGE;
    const credential = passkey.used(await beginSignIn(), ORIGIN);
    expect(outcome(await sendSignIn(credential, withoutOrigin))).toBe("auth.foreign_page");
    expect(outcome((await added(browser, testPasskey(), "http://evil.test")).answer)).toBe("auth.passkey_failed");
  });

  test("is refused if its device was not unlocked, if it was copied, or if another one signed", async () => {
    const { browser } = await person(api);
    const { passkey } = await added(browser);
    const use = async (changes: object) => sendSignIn(passkey.used(await beginSignIn(), ORIGIN, changes));
    expect(outcome(await use({ isUnlocked: false }))).toBe("auth.passkey_failed");
    expect(outcome(await use({ counter: 7 }))).toBe(201);
    expect(outcome(await use({ counter: 7 }))).toBe("auth.passkey_failed");
    const begun = await beginSignIn();
    const genuine = passkey.used(begun, ORIGIN, { counter: 8 });
    const { signature } = testPasskey().used(begun, ORIGIN, { counter: 8 }).response;
    const forged = { ...genuine, response: { ...genuine.response, signature } };
    expect(outcome(await sendSignIn(forged))).toBe("auth.passkey_failed");
  });

  test("of another user confirms nothing, and cannot be renamed or removed", async () => {
    const { browser } = await person(api);
    const { answer } = await added(browser);
    const { browser: other } = await person(api);
    const { passkey: foreign } = await added((await person(api)).browser);
    const begun = await browser.ask("POST", "/auth/passkeys/confirm/begin", {});
    const credential = foreign.used(begun.json, ORIGIN);
    expect(outcome(await browser.ask("POST", "/auth/passkeys/confirm", { credential }))).toBe("auth.passkey_failed");
    const { id } = answer.json;
    expect(outcome(await other.ask("POST", "/auth/passkeys/rename", { id, name: "Mine" }))).toBe("resource.not_found");
    expect(outcome(await other.ask("POST", "/auth/passkeys/remove", { id }))).toBe("resource.not_found");
    expect((await other.ask("GET", "/auth/passkeys")).json).toEqual([]);
  });

  test("cannot be registered by a second user", async () => {
    const { passkey } = await added((await person(api)).browser);
    const { answer } = await added((await person(api)).browser, passkey);
    expect(outcome(answer)).toBe("resource.already_exists");
  });

  test("is refused once it was removed, and sessions that were begun with it end", async () => {
    const { email, browser } = await person(api);
    const { passkey, answer } = await added(browser);
    const begunWithIt = browserOf(api, await signInWith(passkey));
    const byPassword = browserOf(api, await signIn(api, email));
    const { id } = answer.json;
    expect((await browser.ask("POST", "/auth/passkeys/rename", { id, name: "Old laptop" })).json.name).toBe(
      "Old laptop",
    );
    expect(outcome(await byPassword.ask("POST", "/auth/passkeys/remove", { id }))).toBe(200);
    expect(outcome(await signInWith(passkey))).toBe("auth.passkey_failed");
    const asked = await Promise.all([begunWithIt, byPassword].map(({ ask }) => ask("GET", "/projects")));
    expect(asked.map(({ status }) => status)).toEqual([401, 200]);
  });

  test("of who made a user up ends when the person whose address it is chooses a password", async () => {
    // A team invents a user with somebody's address and keeps a way in; another team then invites the person.
    const { id, email, browser } = await person(api, "member", api.otherTeam.place.server.team_id);
    const { passkey } = await added(browser);
    const { team_id: teamId } = api.place.server;
    await api.ask("POST", `/teams/${teamId}/members`, { token: api.rootToken, body: { email, role: "admin" } });
    const redeem = async (body: object) => {
      const link = await api.ask("POST", `/teams/${teamId}/members/${id}/sign-in-link`, { token: api.rootToken });
      return request(api, "POST", "/auth/links/redeem", { body: { code: link.json.code, ...body } });
    };
    const own = browserOf(api, await redeem({ password: `${PASSWORD}!` }));
    expect(outcome(await signInWith(passkey))).toBe("auth.passkey_failed");
    expect((await own.ask("GET", "/auth/passkeys")).json).toEqual([]);
    // Who only signs in by a link keeps what they have.
    const { passkey: ownPasskey } = await added(own);
    expect(outcome(await redeem({}))).toBe(201);
    expect(outcome(await signInWith(ownPasskey))).toBe(201);
  });

  test("confirms for 15 minutes as the password does, and is added only after that", async () => {
    const { browser } = await person(api);
    await forgetConfirmation(browser);
    expect(outcome(await browser.ask("POST", "/auth/passkeys/begin", {}))).toBe("auth.confirmation_required");
    await browser.ask("POST", "/auth/confirm", { password: PASSWORD });
    const { passkey } = await added(browser);
    await forgetConfirmation(browser);
    expect(outcome(await browser.ask("POST", "/auth/links", {}))).toBe("auth.confirmation_required");
    expect((await confirmWith(browser, passkey)).json.confirmed_until).not.toBeNull();
    expect((await browser.ask("POST", "/auth/links", {})).status).toBe(201);
  });

  test("answers a challenge for what it was sent for alone", async () => {
    const { browser } = await person(api);
    const { passkey } = await added(browser);
    const confirm = async (credential: object) => browser.ask("POST", "/auth/passkeys/confirm", { credential });
    expect(outcome(await confirm(passkey.used(await beginSignIn(), ORIGIN)))).toBe("auth.passkey_failed");
    const begun = await browser.ask("POST", "/auth/passkeys/confirm/begin", {});
    expect(outcome(await sendSignIn(passkey.used(begun.json, ORIGIN)))).toBe("auth.passkey_failed");
  });

  test("is a session's alone, and no IP address has one", async () => {
    expect(outcome(await api.ask("GET", "/auth/passkeys"))).toBe("auth.session_required");
    const headers = { ...OWN_PAGE, host: "192.0.2.7", origin: "http://192.0.2.7" };
    const begun = await request(api, "POST", "/auth/passkeys/sign-in/begin", { headers, body: {} });
    expect(begun.json).toMatchObject({ code: "resource.state", message: expect.stringContaining("host names only") });
  });
});

describe("a passkey where a second factor is required", () => {
  const requireIn = (teamId: number, second_factor_required: boolean) =>
    api.ask("PATCH", `/teams/${teamId}`, { token: api.rootToken, body: { second_factor_required } });

  test("counts as two in the sessions that it proved, and keeps the password from adding another factor", async () => {
    const { id, email, teamId, browser } = await person(api);
    await requireIn(teamId, true);
    try {
      expect(outcome(await browser.ask("GET", "/projects"))).toBe("auth.second_factor_missing");
      const { passkey } = await added(browser);
      expect(outcome(await browser.ask("GET", "/projects"))).toBe(200);
      expect(outcome(await browserOf(api, await signInWith(passkey)).ask("GET", "/projects"))).toBe(200);

      const byPassword = browserOf(api, await signIn(api, email));
      for (const path of ["/auth/second-factor", "/auth/passkeys/begin"]) {
        expect(outcome(await byPassword.ask("POST", path, {}))).toBe("auth.second_factor_missing");
      }
      expect((await confirmWith(byPassword, passkey)).json.needs_second_factor).toBe(false);
      expect(outcome(await byPassword.ask("GET", "/projects"))).toBe(200);

      // Who lost it asks an owner, and begins anew with the password.
      const reset = `/teams/${teamId}/members/${id}/second-factor`;
      expect(outcome(await api.ask("DELETE", reset, { token: api.rootToken }))).toBe(200);
      expect(outcome(await signInWith(passkey))).toBe("auth.passkey_failed");
      expect(outcome(await browser.ask("GET", "/auth/session"))).toBe("auth.unauthenticated");
      const anew = browserOf(api, await signIn(api, email));
      expect(outcome((await added(anew)).answer)).toBe(201);
    } finally {
      await requireIn(teamId, false);
    }
  });

  test("is kept from the password in the user's other teams, too", async () => {
    const required = api.otherTeam.place.server.team_id;
    const { id, email, teamId, browser } = await person(api);
    await api.db.stores(ROOT_TEAM_ID).members.insert(required, { email, name: "Ada", role: "owner" });
    await api.db.system.accounts.acceptTeams(id);
    const { passkey, answer } = await added(browser);
    await requireIn(required, true);
    try {
      const byPassword = browserOf(api, await signIn(api, email));
      expect(outcome(await byPassword.ask("POST", "/auth/team", { team_id: teamId }))).toBe(200);
      expect(outcome(await byPassword.ask("GET", "/projects"))).toBe(200);
      for (const [path, body] of [
        ["/auth/second-factor", {}],
        ["/auth/passkeys/begin", {}],
        ["/auth/passkeys/remove", { id: answer.json.id }],
      ] as const) {
        expect(outcome(await byPassword.ask("POST", path, body))).toBe("auth.second_factor_missing");
      }
      await confirmWith(byPassword, passkey);
      expect(outcome(await byPassword.ask("POST", "/auth/passkeys/remove", { id: answer.json.id }))).toBe(200);
    } finally {
      await requireIn(required, false);
    }
  });

  test("asks for no code of an authenticator app", async () => {
    const { email, browser } = await person(api);
    const { passkey } = await added(browser);
    await api.db.system.secondFactors.begin(
      (await browser.ask("GET", "/auth/session")).json.user.id,
      "x",
      "A".repeat(32),
    );
    await api.db.database.kysely.updateTable("second_factor").set({ confirmed_at: new Date() }).execute();
    expect(outcome(await signIn(api, email))).toBe("auth.second_factor_required");
    expect(outcome(await signInWith(passkey))).toBe(201);
  });
});

test("wrong passkeys of an address are slowed", async () => {
  const passkey = testPasskey();
  const wrong = async () => outcome(await sendSignIn(passkey.used(await beginSignIn(), ORIGIN)));
  for (let n = 0; n < 5; n++) expect(await wrong()).toBe("auth.passkey_failed");
  expect(await wrong()).toBe("rate.limited");
  now = new Date(now.getTime() + 3_600_000);
  expect(await wrong()).toBe("auth.passkey_failed");
});
