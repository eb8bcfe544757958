import { generateKeyPairSync } from "node:crypto";
import { DomainError, OriginCredential } from "@berth/core";
import type { GitHostLogin } from "@berth/core/ports";
import { LISTED_MAX } from "@berth/core/source";
import { type GithubServer, startGithubServer } from "@berth/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { githubHost } from "./github.ts";

const WEB = { owner: "acme", name: "web" };
const host = githubHost({ allowedPrivateHosts: ["127.0.0.1"] });

let server: GithubServer;
let login: GitHostLogin;
beforeAll(async () => {
  server = await startGithubServer({
    repositories: [
      { id: 11, fullName: "acme/web", branches: ["main", "next"], formerNames: ["acme/website"] },
      { id: 12, fullName: "acme/api", branches: ["main"] },
    ],
  });
  login = loginOf(server);
});
afterEach(() => server.clearFaults());
afterAll(() => server.close());

const loginOf = ({ url, appId, installationId, privateKey }: GithubServer): GitHostLogin => ({
  apiUrl: url,
  appId,
  installationId,
  privateKey: new OriginCredential([url], privateKey),
});

async function problemOf(work: Promise<unknown>): Promise<DomainError> {
  const problem = await work.catch((error: unknown) => error);
  if (problem instanceof DomainError) return problem;
  throw new Error("It did not fail as it should.", { cause: problem });
}

describe("a git host", () => {
  test("lists what the app's installation sees, without the tokens that the host adds", async () => {
    const repositories = await host.repositories(login);
    expect(repositories.map(({ id, full_name }) => [id, full_name])).toEqual([
      [11, "acme/web"],
      [12, "acme/api"],
    ]);
    expect(JSON.stringify(repositories)).not.toContain("SECRET");
  });

  test("lists the branches of a repository", async () => {
    const branches = await host.branches(login, WEB);
    expect(branches.map(({ name }) => name)).toEqual(["main", "next"]);
  });

  test("finds a repository also by the name it had before", async () => {
    expect((await host.repository(login, { owner: "acme", name: "website" })).full_name).toBe("acme/web");
  });

  test("gives a token that reads one repository and nothing else", async () => {
    const token = await host.readToken(login, 11);
    expect(server.tokens.at(-1)).toEqual({ token, repositoryIds: [11], permissions: { contents: "read" } });
  });

  test("reads all pages of a long list, each from the host it signed in at", async () => {
    const many = await startGithubServer({
      repositories: Array.from({ length: 250 }, (_, n) => ({ id: n + 1, fullName: `acme/r${n}`, branches: [] })),
    });
    const repositories = await host.repositories(loginOf(many));
    expect(new Set(repositories.map(({ id }) => id)).size).toBe(250);
    expect(many.requests.filter((asked) => asked.startsWith("GET /installation/repositories"))).toHaveLength(3);
    await many.close();
  });

  test("reads no more than the limit of an endless list", async () => {
    const branches = Array.from({ length: LISTED_MAX + 150 }, (_, n) => `b${n}`);
    const endless = await startGithubServer({ repositories: [{ id: 1, fullName: "acme/web", branches }] });
    expect(await host.branches(loginOf(endless), WEB)).toHaveLength(LISTED_MAX);
    await endless.close();
  });

  test("never shares a token between two hosts that call an installation by the same number", async () => {
    const other = await startGithubServer({ repositories: [{ id: 11, fullName: "evil/web", branches: [] }] });
    const found = await Promise.all([host.repositories(login), host.repositories(loginOf(other))]);
    expect(found.map(([first]) => first?.full_name)).toEqual(["acme/web", "evil/web"]);
    await other.close();
  });
});

describe("an app that the host does not take", () => {
  const otherKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const keyed = (privateKey: string) => ({ privateKey: new OriginCredential([login.apiUrl], privateKey) });
  const cases: readonly [string, () => Partial<GitHostLogin>][] = [
    ["another key", () => keyed(otherKey.export({ type: "pkcs8", format: "pem" }).toString())],
    ["another app", () => ({ appId: 1 })],
    ["another installation", () => ({ installationId: 1 })],
    ["a key that is none", () => keyed("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")],
    [
      "a key of another kind",
      () => keyed(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString()),
    ],
  ];
  test.each(cases)("is refused for %s, with what to check and without the key", async (_, wrong) => {
    const used = { ...login, ...wrong() };
    const problem = await problemOf(host.repositories(used));
    expect([problem.code, problem.message]).toEqual(["git_host.refused", "Failed to generate Github App token."]);
    expect(problem.details?.reason).toMatch(/private key/i);
    expect(JSON.stringify(problem.details) + problem.message).not.toContain(
      used.privateKey.for(login.apiUrl)?.slice(40, 60),
    );
  });
});

describe("a fault of the host", () => {
  const MINT = "POST /app/installations";
  const LIST = "GET /installation/repositories";
  const GET = "GET /repos/";

  test.each([
    [MINT, "unauthorized", "git_host.refused"],
    [MINT, "not_found", "git_host.refused"],
    [MINT, "rate_limited", "rate.limited"],
    [MINT, "server_error", "git_host.failed"],
    [MINT, "garbage", "git_host.failed"],
    [LIST, "unauthorized", "git_host.refused"],
    [LIST, "forbidden", "git_host.failed"],
    [LIST, "secondary_rate_limited", "rate.limited"],
    [LIST, "too_many_requests", "rate.limited"],
    [LIST, "server_error", "git_host.failed"],
    [LIST, "other_json", "git_host.failed"],
    [LIST, "huge", "git_host.failed"],
    [LIST, "private_redirect", "git_host.failed"],
  ] as const)("%s that is %s reads as %s", async (asked, fault, code) => {
    server.fail(asked, fault);
    const problem = await problemOf(host.repositories(login));
    expect(problem.code).toBe(code);
    expect(problem.message.length).toBeLessThan(300);
  });

  test.each([
    ["forbidden", "git_host.not_found"],
    ["not_found", "git_host.not_found"],
    ["server_error", "git_host.failed"],
    ["rate_limited", "rate.limited"],
    ["garbage", "git_host.failed"],
  ] as const)("%s for a repository reads as %s", async (fault, code) => {
    server.fail(GET, fault);
    expect((await problemOf(host.repository(login, WEB))).code).toBe(code);
    expect((await problemOf(host.branches(login, WEB))).code).toBe(code);
  });

  test.each([
    ["rate_limited", 120],
    ["secondary_rate_limited", 17],
    ["too_many_requests", 60],
  ] as const)("says how long to wait when %s", async (fault, seconds) => {
    server.fail(LIST, fault);
    const { retryAfterSeconds = 0 } = await problemOf(host.repositories(login));
    expect(Math.abs(retryAfterSeconds - seconds)).toBeLessThanOrEqual(2);
  });

  test("is given up after a while", async () => {
    server.fail(LIST, "slow");
    const hasty = githubHost({ allowedPrivateHosts: ["127.0.0.1"], secondsMax: 0.5 });
    const problem = await problemOf(hasty.repositories(login));
    expect([problem.code, problem.message]).toEqual(["git_host.failed", expect.stringContaining("0.5 seconds")]);
  });

  test("in a private network is told, and nothing is sent there", async () => {
    const before = server.requests.length;
    const problem = await problemOf(githubHost({ allowedPrivateHosts: [] }).repositories(login));
    expect([problem.code, problem.message]).toEqual(["git_host.failed", expect.stringContaining("private address")]);
    expect(server.requests).toHaveLength(before);
  });
});

test.each([
  ["http://169.254.169.254/", false],
  ["http://[::1]:3000", false],
  ["http://2130706434/", false],
  ["http://127.0.0.1:3000", true],
  ["https://api.github.com", true],
  ["http://LOCALHOST:3000", true],
])("knows of %s before any call whether it may be called: %s", (url, isAllowed) => {
  expect(host.mayCall(url)).toBe(isAllowed);
  expect(githubHost({ allowedPrivateHosts: [] }).mayCall(url)).toBe(url.includes("github.com"));
});
