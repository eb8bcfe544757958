import { identityProviders } from "@berth/identity";
import { type IdentityServer, identityServer, testUuid } from "@berth/testing";
import { Secret, TOTP } from "otpauth";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Served, served } from "./berth.fixture.ts";
import { browserOf, PASSWORD, person, request, type TestBrowser } from "./browser.fixture.ts";

const PUBLIC_URL = "http://berth.test";
let server: IdentityServer;
let api: Served;
beforeAll(async () => {
  server = await identityServer();
  const providers = identityProviders({ allowedPrivateHosts: ["127.0.0.1"] });
  api = await served({ providers }, { publicUrl: PUBLIC_URL });
});
afterAll(async () => {
  expect(api.faults).toEqual([]);
  await api.close();
  await server.close();
});
beforeEach(() => {
  server.fault = undefined;
  server.person = { sub: testUuid(), email: `${testUuid()}@example.com`, email_verified: true, name: "Ada" };
});

interface Provider {
  readonly uuid: string;
  readonly name: string;
}

async function provider(fields: object = {}): Promise<Provider> {
  const body = {
    ...{ name: "Example", kind: "oidc", issuer: server.url },
    ...{ client_id: server.clientId, client_secret: server.clientSecret, ...fields },
  };
  const { status, json } = await api.ask("POST", "/identity-providers", { token: api.rootToken, body });
  expect([status, json.redirect_uri]).toEqual([201, `${PUBLIC_URL}/sign-in/callback`]);
  return json;
}

type Ask = (
  path: string,
  body: object,
) => Promise<{ readonly status: number; readonly json: { key: string; url: string } }>;
const anybody: Ask = (path, body) => request(api, "POST", path, { body });

/** To the provider and back: what the page then has. */
async function returned({ uuid }: Provider, path = "/auth/providers/begin", ask = anybody) {
  const { status, json } = await ask(path, { provider: uuid });
  expect(status).toBe(201);
  const back = await server.authorize(json.url);
  expect(back.href).toMatch(`${PUBLIC_URL}/sign-in/callback?`);
  return { key: json.key, query: back.search.slice(1) };
}

const finish = (sent: object) => request(api, "POST", "/auth/providers/finish", { body: sent });
const signIn = async (at: Provider) => finish(await returned(at));

/** Status, and the code of an error. */
const outcome = ({ status, json }: { readonly status: number; readonly json: { readonly code?: string } }) =>
  json.code === undefined ? status : json.code;

const invited = async (email: string, teamId = api.place.server.team_id) =>
  api.ask("POST", `/teams/${teamId}/members`, { token: api.rootToken, body: { email } });

describe("signing in at a provider", () => {
  test("that lets in nobody else is for users who connected it", async () => {
    const at = await provider();
    await invited(server.person.email);
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
    const { id, browser } = await person(api);
    const ask: Ask = (path, body) => browser.ask("POST", path, body);
    const connected = await browser.ask("POST", "/auth/identities", await returned(at, "/auth/identities/begin", ask));
    expect(connected.json).toMatchObject([{ provider: "Example", email: server.person.email }]);
    const signedIn = await signIn(at);
    expect(signedIn.json.session.user.id).toBe(id);
    expect((await browserOf(api, signedIn).ask("GET", "/projects")).status).toBe(200);
    const [{ provider_id }] = connected.json;
    expect(outcome(await browser.ask("POST", "/auth/identities/disconnect", { provider_id }))).toBe(200);
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
  });

  test("lets in who was invited by the address that it verified, into what they were invited to", async () => {
    const at = await provider({ sign_up: "invited" });
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
    const { json } = await invited(server.person.email);
    server.person = { ...server.person, email_verified: false };
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
    server.person = { ...server.person, email_verified: true };
    const signedIn = await signIn(at);
    expect([signedIn.json.session.user.id, signedIn.json.session.team.name]).toEqual([json.id, "Own"]);
    // Another address at the provider is the same person there.
    server.person = { ...server.person, email: "other@example.com" };
    expect((await signIn(at)).json.session.user.id).toBe(json.id);
  });

  test("takes over no user who has another way in", async () => {
    const at = await provider({ sign_up: "invited" });
    const { email } = await person(api);
    server.person = { ...server.person, email };
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
  });

  test("is disconnected when a link replaces the password", async () => {
    const at = await provider();
    const { id, teamId, browser } = await person(api);
    const ask: Ask = (path, body) => browser.ask("POST", path, body);
    await browser.ask("POST", "/auth/identities", await returned(at, "/auth/identities/begin", ask));
    expect(outcome(await signIn(at))).toBe(201);
    const link = await api.ask("POST", `/teams/${teamId}/members/${id}/sign-in-link`, { token: api.rootToken });
    const body = { code: link.json.code, password: `${PASSWORD}!` };
    expect(outcome(await request(api, "POST", "/auth/links/redeem", { body }))).toBe(201);
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
  });

  test("takes over no user who signs in with a passkey alone, nor does a link of a team", async () => {
    const at = await provider({ sign_up: "invited" });
    const { id, email, teamId } = await person(api);
    await api.db.system.passkeys.insert({
      ...{ credential_id: testUuid(), public_key: new Uint8Array([1]), counter: 0, is_synced: false },
      ...{ user_id: id, name: "Laptop", origin: PUBLIC_URL, transports: [] },
    });
    await api.db.database.kysely.updateTable("user").set({ password_hash: null }).where("id", "=", id).execute();
    server.person = { ...server.person, email };
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
    const link = await api.ask("POST", `/teams/${teamId}/members/${id}/sign-in-link`, {
      token: await api.tokenWith("root"),
    });
    const inspected = await request(api, "POST", "/auth/links/inspect", { body: { code: link.json.code } });
    expect(outcome(inspected)).toBe("auth.link_invalid");
  });

  test("is disconnected when a link sets the first password", async () => {
    const team_id = api.place.server.team_id;
    const at = await provider({ sign_up: "domain", sign_up_domains: "corp.example", team_id });
    server.person = { ...server.person, email: `${testUuid()}@corp.example` };
    const { id } = (await signIn(at)).json.session.user;
    const link = await api.ask("POST", `/teams/${team_id}/members/${id}/sign-in-link`, { token: api.rootToken });
    const body = { code: link.json.code, password: PASSWORD };
    expect(outcome(await request(api, "POST", "/auth/links/redeem", { body }))).toBe(201);
    expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
  });

  test("makes members of who has an address of its domains, and of nobody else", async () => {
    const team_id = api.place.server.team_id;
    const at = await provider({ sign_up: "domain", sign_up_domains: "corp.example, other.example", team_id });
    for (const email of ["ada@evil-corp.example", "ada@corp.example.evil.test", "ada@sub.corp.example"]) {
      server.person = { ...server.person, email };
      expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
    }
    server.person = { ...server.person, email: `${testUuid()}@CORP.example` };
    const { json } = await signIn(at);
    expect(json.session).toMatchObject({ team: { id: team_id, role: "member" }, user: { name: "Ada" } });
    expect((await signIn(at)).json.session.user.id).toBe(json.session.user.id);
  });

  describe("with groups that give roles", () => {
    const own = () => api.place.server.team_id;
    let otherId = 0;
    beforeAll(async () => {
      const { json } = await api.ask("POST", "/teams", { token: api.rootToken, body: { name: "Staff" } });
      otherId = json.id;
    });
    const memberOf = async (teamId: number, email: string) => {
      const { json } = await api.ask("GET", `/teams/${teamId}/members`, { token: api.rootToken });
      return (json as { email: string; role: string }[]).find((member) => member.email === email)?.role;
    };
    const inGroups = (...groups: readonly string[]) => {
      server.person = { ...server.person, groups };
    };
    const rules = () => [
      { group: "developers", team_id: own(), role: "member" },
      { group: "leads", team_id: own(), role: "admin" },
      { group: "staff", team_id: otherId, role: "member" },
    ];

    test("makes users of who is in one of them, and follows each change of them", async () => {
      const at = await provider({ sign_up: "group", group_roles: rules() });
      const { email } = server.person;
      inGroups("others");
      expect(outcome(await signIn(at))).toBe("auth.sign_up_refused");
      inGroups("developers");
      const { json } = await signIn(at);
      expect(json.session).toMatchObject({ team: { id: own(), role: "member" }, user: { name: "Ada", email } });
      inGroups("developers", "leads", "staff");
      const promoted = await signIn(at);
      expect(promoted.json.session.user.id).toBe(json.session.user.id);
      expect([await memberOf(own(), email), await memberOf(otherId, email)]).toEqual(["admin", "member"]);
      inGroups("staff");
      const browser = browserOf(api, await signIn(at));
      expect([await memberOf(own(), email), await memberOf(otherId, email)]).toEqual([undefined, "member"]);
      inGroups();
      expect(outcome(await signIn(at))).toBe("resource.state");
      expect(await memberOf(otherId, email)).toBeUndefined();
      expect((await browser.ask("GET", "/projects")).status).toBe(401);
      const { json: events } = await api.ask("GET", "/events?type=member.");
      const own_events = events.events.filter(
        ({ payload }: { payload: { user_id: number } }) => payload.user_id === json.session.user.id,
      );
      expect(own_events.map(({ type }: { type: string }) => type).reverse()).toEqual([
        "member.added",
        "member.role_changed",
        "member.removed",
      ]);
      inGroups("staff");
      expect((await signIn(at)).json.session.user.id).toBe(json.session.user.id);
    });

    test("leave a role that a person gave since", async () => {
      const at = await provider({ sign_up: "group", group_roles: rules() });
      const { email } = server.person;
      inGroups("leads");
      const { id } = (await signIn(at)).json.session.user;
      const path = `/teams/${own()}/members/${id}`;
      expect((await api.ask("PATCH", path, { token: api.rootToken, body: { role: "member" } })).status).toBe(200);
      for (const groups of [["leads"], []]) {
        inGroups(...groups);
        expect(outcome(await signIn(at))).toBe(201);
        expect(await memberOf(own(), email)).toBe("member");
      }
    });

    test("accept an invitation to a team that they give, and count for who signed up by a domain", async () => {
      const at = await provider({ sign_up: "group", group_roles: rules() });
      inGroups("staff");
      const { email } = server.person;
      expect(outcome(await signIn(at))).toBe(201);
      await invited(email);
      inGroups("leads");
      expect((await signIn(at)).json.session.team).toMatchObject({ id: own(), role: "admin" });
      const byDomain = { sign_up: "domain", sign_up_domains: "corp.example", team_id: own() };
      const other = await provider({ ...byDomain, group_roles: rules() });
      server.person = { ...server.person, sub: testUuid(), email: `${testUuid()}@corp.example` };
      inGroups("leads");
      expect((await signIn(other)).json.session.team).toMatchObject({ id: own(), role: "admin" });
      server.person = { ...server.person, sub: testUuid(), email: `${testUuid()}@corp.example` };
      inGroups("others");
      expect((await signIn(other)).json.session.team).toMatchObject({ id: own(), role: "member" });
    });

    test("are given only by who may give the role to a member", async () => {
      const at = await provider({ sign_up: "group", group_roles: [{ group: "ops", team_id: 0, role: "admin" }] });
      inGroups("ops");
      const browser = browserOf(api, await signIn(at));
      const rule = { group: "ops", team_id: 0, role: "owner" };
      const body = { name: "Mine", kind: "oidc", issuer: server.url, client_id: "x", client_secret: "x" };
      const made = await browser.ask("POST", "/identity-providers", { ...body, group_roles: [rule] });
      expect(outcome(made)).toBe("auth.missing_role");
      const path = `/identity-providers/${at.uuid}`;
      expect(outcome(await browser.ask("PATCH", path, { group_roles: [rule] }))).toBe("auth.missing_role");
      await api.ask("PATCH", path, { token: api.rootToken, body: { group_roles: [rule] } });
      expect(outcome(await browser.ask("PATCH", path, { groups_claim: "name" }))).toBe("auth.missing_role");
      expect(outcome(await browser.ask("PATCH", path, { name: "Renamed" }))).toBe(200);
    });

    test("leaves alone who was added by a person, and the last owner of a team", async () => {
      const at = await provider({ sign_up: "invited", group_roles: [{ ...rules()[1], role: "owner" }] });
      const { email } = server.person;
      await invited(email);
      inGroups("leads");
      expect(outcome(await signIn(at))).toBe(201);
      expect(await memberOf(own(), email)).toBe("member");
      inGroups();
      expect(outcome(await signIn(at))).toBe(201);
      expect(await memberOf(own(), email)).toBe("member");
      const { json: team } = await api.ask("POST", "/teams", { token: api.rootToken, body: { name: "Empty" } });
      const lonely = [{ group: "leads", team_id: team.id, role: "owner" }];
      await api.ask("PATCH", `/identity-providers/${at.uuid}`, {
        token: api.rootToken,
        body: { group_roles: lonely },
      });
      inGroups("leads");
      expect(outcome(await signIn(at))).toBe(201);
      const owners = await api.ask("GET", `/teams/${team.id}/members`, { token: api.rootToken });
      for (const { id, email: other } of owners.json as { id: number; email: string }[]) {
        if (other !== email) await api.ask("DELETE", `/teams/${team.id}/members/${id}`, { token: api.rootToken });
      }
      inGroups();
      expect(outcome(await signIn(at))).toBe(201);
      expect(await memberOf(team.id, email)).toBe("owner");
    });

    test("keeps what was given where the provider does not list them all", async () => {
      const at = await provider({ sign_up: "group", group_roles: rules() });
      const { email } = server.person;
      inGroups("developers");
      expect(outcome(await signIn(at))).toBe(201);
      server.person = { ...server.person, groups: undefined, _claim_names: { groups: "src1" } };
      expect(outcome(await signIn(at))).toBe(201);
      expect(await memberOf(own(), email)).toBe("member");
    });
  });

  test("works with GitHub", async () => {
    server.person = { ...server.person, sub: "4711" };
    const at = await provider({ kind: "github", sign_up: "invited" });
    await invited(server.person.email);
    expect((await signIn(at)).json.session.user.email).toBe(server.person.email);
  });

  test("works once, in the browser that began it", async () => {
    const at = await provider({ sign_up: "invited" });
    await invited(server.person.email);
    const [sent, other] = [await returned(at), await returned(at)];
    expect(outcome(await finish({ ...sent, key: other.key }))).toBe("auth.provider_expired");
    expect(outcome(await finish({ ...sent, query: "code=1" }))).toBe("auth.provider_expired");
    const twice = await Promise.all([finish(sent), finish(sent)]);
    expect(twice.map(outcome).sort()).toEqual([201, "auth.provider_expired"]);
    await api.db.database.kysely
      .updateTable("provider_attempt")
      .set({ expires_at: new Date(0) })
      .execute();
    expect(outcome(await finish(other))).toBe("auth.provider_expired");
  });

  test("connects nobody's identity to a browser that did not ask for it", async () => {
    const at = await provider({ sign_up: "invited" });
    await invited(server.person.email);
    const [{ browser: ada }, { browser: eve }] = [await person(api), await person(api)];
    const ask: Ask = (path, body) => eve.ask("POST", path, body);
    const connecting = await returned(at, "/auth/identities/begin", ask);
    expect(outcome(await ada.ask("POST", "/auth/identities", connecting))).toBe("auth.provider_expired");
    expect(outcome(await ada.ask("POST", "/auth/identities", await returned(at)))).toBe("auth.provider_expired");
    expect(outcome(await finish(await returned(at, "/auth/identities/begin", ask)))).toBe("auth.provider_expired");
  });

  test("asks for the second factor, without a second way to the provider", async () => {
    const at = await provider();
    const { browser } = await person(api);
    const ask: Ask = (path, body) => browser.ask("POST", path, body);
    await browser.ask("POST", "/auth/identities", await returned(at, "/auth/identities/begin", ask));
    const secret = await withSecondFactor(browser);
    const sent = await returned(at);
    const requests = server.requests.length;
    expect(outcome(await finish(sent))).toBe("auth.second_factor_required");
    expect(outcome(await finish({ ...sent, code: "000000" }))).toBe("auth.second_factor_failed");
    const asked = server.requests.slice(requests).filter((line) => line.endsWith("/token"));
    const code = codeOf(secret, new Date(Date.now() + 30_000));
    expect([outcome(await finish({ ...sent, code })), asked.length]).toEqual([201, 1]);
    expect(outcome(await finish({ ...sent, code }))).toBe("auth.provider_expired");
  });

  test("waits for a code no longer than the attempt, and for nobody whose identity was disconnected", async () => {
    const at = await provider();
    const { browser } = await person(api);
    const ask: Ask = (path, body) => browser.ask("POST", path, body);
    const begun = await returned(at, "/auth/identities/begin", ask);
    const [{ provider_id }] = (await browser.ask("POST", "/auth/identities", begun)).json;
    const secret = await withSecondFactor(browser);
    const sent = await returned(at);
    const ends = () =>
      api.db.database.kysely
        .selectFrom("provider_attempt")
        .innerJoin("identity_provider", "identity_provider.id", "provider_id")
        .select("expires_at")
        .where("identity_provider.uuid", "=", at.uuid)
        .execute();
    const before = await ends();
    expect(before).toHaveLength(1);
    expect(outcome(await finish(sent))).toBe("auth.second_factor_required");
    expect(outcome(await finish({ ...sent, code: "000000" }))).toBe("auth.second_factor_failed");
    expect(await ends()).toEqual(before);
    const code = codeOf(secret, new Date(Date.now() + 30_000));
    expect(outcome(await browser.ask("POST", "/auth/identities/disconnect", { provider_id }))).toBe(200);
    expect(outcome(await finish({ ...sent, code }))).toBe("auth.provider_expired");
  });

  test("that refuses says so", async () => {
    const at = await provider();
    server.fault = "denied";
    const refused = await signIn(at);
    expect([outcome(refused), refused.json.message]).toEqual([
      "auth.provider_failed",
      "The sign-in at Example failed: you did not allow it there. Begin again.",
    ]);
  });

  test("is not a user's only way in who then loses it", async () => {
    const at = await provider({ sign_up: "invited" });
    await invited(server.person.email);
    const browser = browserOf(api, await signIn(at));
    const [{ provider_id }] = (await browser.ask("GET", "/auth/identities")).json;
    const disconnect = () => browser.ask("POST", "/auth/identities/disconnect", { provider_id });
    expect(outcome(await disconnect())).toBe("resource.state");
    const user_id = (await browser.ask("GET", "/auth/session")).json.user.id;
    const key = { credential_id: testUuid(), public_key: new Uint8Array(1), counter: 0, is_synced: false };
    const laptop = { ...key, user_id, name: "Laptop", transports: [], origin: PUBLIC_URL };
    const { id } = await api.db.system.passkeys.insert(laptop);
    expect(outcome(await disconnect())).toBe(200);
    expect(outcome(await browser.ask("POST", "/auth/passkeys/remove", { id }))).toBe("resource.state");
  });
});

describe("providers", () => {
  test("are named to everybody, and shown without their secret to the root team alone", async () => {
    const { uuid } = await provider({ name: "Shown" });
    const { json } = await request(api, "GET", "/auth/providers");
    expect(json).toContainEqual({ uuid, name: "Shown" });
    expect(outcome(await api.ask("GET", "/identity-providers", { token: api.otherTeam.powerfulToken }))).toBe(
      "auth.root_team_only",
    );
    const { text } = await api.ask("GET", "/identity-providers", { token: api.rootToken });
    expect(text).not.toContain(server.clientSecret);
  });

  test("are changed and removed, with the identities there", async () => {
    const at = await provider({ sign_up: "invited" });
    await invited(server.person.email);
    expect(outcome(await signIn(at))).toBe(201);
    const path = `/identity-providers/${at.uuid}`;
    const changed = await api.ask("PATCH", path, { token: api.rootToken, body: { client_secret: "wrong" } });
    expect(changed.status).toBe(200);
    expect(outcome(await signIn(at))).toBe("auth.provider_failed");
    expect((await api.ask("DELETE", path, { token: api.rootToken })).status).toBe(200);
    expect(outcome(await anybodyBegins(at))).toBe("resource.not_found");
  });

  test.each([
    [{ issuer: undefined }, "issuer"],
    [{ issuer: "http://id.example.com" }, "issuer"],
    [{ issuer: "https://user@id.example.com" }, "issuer"],
    [{ sign_up: "domain" }, "sign_up_domains"],
    [{ sign_up: "domain", sign_up_domains: "corp.example" }, "team_id"],
    [{ sign_up: "domain", sign_up_domains: "corp", team_id: 0 }, "sign_up_domains"],
    [{ team_id: 4_000_000 }, "team_id"],
    [{ sign_up: "group" }, "group_roles"],
    [{ group_roles: [{ group: "a", team_id: 4_000_000, role: "member" }] }, "group_roles"],
    [{ kind: "github", group_roles: [{ group: "a", team_id: 0, role: "member" }] }, "group_roles"],
  ])("with %j are refused", async (fields, wrong) => {
    const body = { name: "x", kind: "oidc", issuer: server.url, client_id: "x", client_secret: "x", ...fields };
    const { status, json } = await api.ask("POST", "/identity-providers", { token: api.rootToken, body });
    expect([status, Object.keys(json.errors)]).toEqual([422, [wrong]]);
  });

  const anybodyBegins = ({ uuid }: Provider) =>
    request(api, "POST", "/auth/providers/begin", { body: { provider: uuid } });
});

const codeOf = (secret: string, at = new Date()) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: at.getTime() });

async function withSecondFactor({ ask }: TestBrowser): Promise<string> {
  const { secret } = (await ask("POST", "/auth/second-factor", {})).json;
  expect((await ask("POST", "/auth/second-factor/enable", { code: codeOf(secret) })).status).toBe(200);
  return secret;
}
