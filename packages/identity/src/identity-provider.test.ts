import type { ProviderLogin } from "@berth/core/ports";
import { type IdentityServer, identityServer } from "@berth/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { identityProviders } from "./index.ts";

let server: IdentityServer;
beforeAll(async () => {
  server = await identityServer();
});
afterAll(() => server.close());
beforeEach(() => {
  server.fault = undefined;
  server.person = { sub: "1001", email: "Ada@Example.com", email_verified: true, name: "Ada" };
});

const providers = identityProviders({ allowedPrivateHosts: ["127.0.0.1"] });
const attempt = {
  redirectUri: "https://berth.example/sign-in/callback",
  state: "s".repeat(43),
  nonce: "n".repeat(43),
  verifier: "v".repeat(43),
};
const loginAt = (kind: "oidc" | "github"): ProviderLogin => ({
  name: "Example",
  kind,
  issuer: server.url,
  client_id: server.clientId,
  client_secret: server.clientSecret,
  groups_claim: "groups",
  group_roles: [],
});

/** The query that a browser comes back with. */
async function returned(login: ProviderLogin): Promise<string> {
  const back = await server.authorize(await providers.authorizationUrl(login, attempt));
  expect(back.origin + back.pathname).toBe(attempt.redirectUri);
  return back.search.slice(1);
}

describe.each(["oidc", "github"] as const)("a provider of the kind %s", (kind) => {
  test("says who signed in, with the verified address in lower case", async () => {
    const login = loginAt(kind);
    expect(await providers.identity(login, attempt, await returned(login))).toEqual({
      subject: "1001",
      email: "ada@example.com",
      name: "Ada",
      groups: [],
    });
  });

  test("is not believed an address that it did not verify", async () => {
    server.person = { ...server.person, email_verified: false };
    const login = loginAt(kind);
    expect((await providers.identity(login, attempt, await returned(login))).email).toBeNull();
  });

  test.each([
    ["another state", { ...attempt, state: "x".repeat(43) }],
    ["another verifier", { ...attempt, verifier: "x".repeat(43) }],
    ["another address to return to", { ...attempt, redirectUri: "https://other.example/sign-in/callback" }],
  ])("is not believed with %s", async (_, other) => {
    const login = loginAt(kind);
    const query = await returned(login);
    await expect(providers.identity(login, other, query)).rejects.toMatchObject({ code: "auth.provider_failed" });
  });

  test("gives nobody anything for a code that was used", async () => {
    const login = loginAt(kind);
    const query = await returned(login);
    await providers.identity(login, attempt, query);
    await expect(providers.identity(login, attempt, query)).rejects.toMatchObject({ code: "auth.provider_failed" });
  });

  test("that refuses is named with what to do, and not quoted", async () => {
    const login = loginAt(kind);
    server.fault = "denied";
    await expect(providers.identity(login, attempt, await returned(login))).rejects.toThrow(
      "The sign-in at Example failed: you did not allow it there. Begin again.",
    );
    server.fault = undefined;
    const query = await returned(login);
    await expect(providers.identity({ ...login, client_secret: "wrong" }, attempt, query)).rejects.toThrow(
      "it answered invalid_client. Check the client id and secret",
    );
  });

  test("on a private address is called only where the operator allows it", async () => {
    const closed = identityProviders({ allowedPrivateHosts: [] });
    const login = loginAt(kind);
    const query = await returned(login);
    const before = server.requests.length;
    await expect(closed.identity(login, attempt, query)).rejects.toThrow("is a private address or this machine");
    expect(server.requests.slice(before)).toEqual([]);
  });
});

describe("the groups of a person", () => {
  const rule = { group: "developers", team_id: 0, role: "member" } as const;
  const groupsOf = async (change: Partial<ProviderLogin> = {}) => {
    const login = { ...loginAt("oidc"), group_roles: [rule], ...change };
    return (await providers.identity(login, attempt, await returned(login))).groups;
  };

  test("are in the ID token, else in the user's information", async () => {
    server.person = { ...server.person, groups: ["staff"] };
    expect(await groupsOf()).toEqual(["staff"]);
    server.fault = { claims: { email: "ada@example.com", groups: ["developers", "ops"] } };
    expect(await groupsOf()).toEqual(["developers", "ops"]);
    server.fault = { claims: { groups: "developers" } };
    expect(await groupsOf()).toEqual(["developers"]);
  });

  test.each<[string, object]>([
    ["realm_access.roles", { realm_access: { roles: ["developers"] } }],
    ["https://berth.example/groups", { "https://berth.example/groups": ["developers"] }],
    ["a.b", { "a.b": ["developers"], a: { b: ["others"] } }],
  ])("are in the claim %s", async (groups_claim, claims) => {
    server.person = { ...server.person, ...claims };
    expect(await groupsOf({ groups_claim })).toEqual(["developers"]);
  });

  test.each<[string, object, readonly string[] | null]>([
    ["a claim that is missing", {}, []],
    ["a claim of another form", { groups: { developers: true } }, []],
    ["members that are no texts", { groups: ["developers", 1, null, ["x"]] }, ["developers"]],
    ["more groups than the provider sends", { _claim_names: { groups: "src1" } }, null],
  ])("of %s are those that are known for sure", async (_, claims, expected) => {
    server.person = { ...server.person, ...claims };
    expect(await groupsOf()).toEqual(expected);
  });

  test("are not asked for where they give nothing", async () => {
    server.person = { ...server.person, groups: ["developers"] };
    expect(await groupsOf({ group_roles: [] })).toEqual([]);
  });

  test("are asked for by a scope only where the provider has one", async () => {
    const scopeAsked = async (change: object) => {
      const url = await providers.authorizationUrl({ ...loginAt("oidc"), ...change }, attempt);
      return new URL(url).searchParams.get("scope");
    };
    expect(await scopeAsked({ group_roles: [rule] })).toBe("openid email profile groups");
    expect(await scopeAsked({})).toBe("openid email profile");
  });
});

describe("an ID token", () => {
  test.each([
    ["of another issuer", { claims: { iss: "https://other.example" } }],
    ["for another client", { claims: { aud: "other" } }],
    ["of another sign-in", { claims: { nonce: "other" } }],
    ["without a nonce", { claims: { nonce: undefined } }],
    ["that has expired", { claims: { exp: 1_000_000 } }],
    ["signed by another key", "foreign_key"],
  ] as const)("%s is not believed", async (_, fault) => {
    const login = loginAt("oidc");
    server.fault = fault;
    const query = await returned(login);
    await expect(providers.identity(login, attempt, query)).rejects.toMatchObject({ code: "auth.provider_failed" });
  });

  test("is the only claim of who it is: userinfo of somebody else is refused", async () => {
    const login = loginAt("oidc");
    server.fault = { claims: { sub: "1002" } };
    const query = await returned(login);
    await expect(providers.identity(login, attempt, query)).rejects.toMatchObject({ code: "auth.provider_failed" });
  });
});

test("a provider that names another issuer than its own is refused", async () => {
  server.fault = "foreign_issuer";
  const fresh = identityProviders({ allowedPrivateHosts: ["127.0.0.1"] });
  await expect(fresh.authorizationUrl(loginAt("oidc"), attempt)).rejects.toMatchObject({
    code: "auth.provider_failed",
  });
});

test("a provider that fails is asked once, however many begin a sign-in there", async () => {
  server.fault = "foreign_issuer";
  const fresh = identityProviders({ allowedPrivateHosts: ["127.0.0.1"] });
  const before = server.requests.length;
  const begin = () => fresh.authorizationUrl(loginAt("oidc"), attempt);
  const together = await Promise.allSettled(Array.from({ length: 20 }, begin));
  expect(together.map(({ status }) => status)).toEqual(together.map(() => "rejected"));
  await expect(begin()).rejects.toMatchObject({ code: "auth.provider_failed" });
  expect(server.requests.slice(before)).toEqual(["GET /.well-known/openid-configuration"]);
});
