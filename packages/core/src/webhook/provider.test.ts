import { describe, expect, test } from "vitest";
import { isDomainError } from "../errors.ts";
import {
  WEBHOOK_PROVIDERS,
  type WebhookProvider,
  webhookEvent,
  webhookIntents,
  webhookRepository,
} from "./provider.ts";

const COMMIT = "59b20b8d5c6ff8d09518454d4dd8b7b30f095ab5";
const GONE = "0".repeat(40);

const isMalformed = (work: () => unknown): boolean => {
  try {
    work();
    return false;
  } catch (error) {
    return isDomainError(error, "request.malformed");
  }
};

const github = (fields: object = {}) =>
  webhookIntents("github", "push", { ref: "refs/heads/main", after: COMMIT, ...fields });
const commit = (fields: object = {}) => ({
  message: "Say hello",
  added: ["a"],
  modified: ["b"],
  removed: ["c"],
  ...fields,
});

describe("a push", () => {
  test("touches what any of its commits added, changed or removed, each once", () => {
    const [push] = github({ commits: [commit(), commit({ added: ["d", "b"], removed: null })] });
    expect(push).toMatchObject({ files: ["a", "b", "c", "d"], isSkipRequested: false });
  });

  test.each([
    ["of a tag", { ref: "refs/tags/v1" }],
    ["that removed its branch", { after: GONE }],
    ["that says it removed its branch", { deleted: true }],
  ])("%s leads to nothing", (_, fields) => {
    expect(github(fields)).toEqual([]);
  });

  test.each([
    ["GitHub lists no commit of", () => github({ commits: [] })],
    ["GitHub lists not all commits of", () => github({ commits: Array<object>(2048).fill(commit()) })],
    [
      "Gitea lists not all commits of",
      () =>
        webhookIntents("gitea", "push", {
          ref: "refs/heads/main",
          after: COMMIT,
          commits: [commit({ message: "[skip ci]" })],
          total_commits: 9,
        }),
    ],
    [
      "GitLab lists not all commits of",
      () =>
        webhookIntents("gitlab", "push", {
          ref: "refs/heads/main",
          after: COMMIT,
          commits: [commit({ message: "[skip ci]" })],
          total_commits_count: 21,
        }),
    ],
  ])("%s has files and messages that nobody knows", (_, read) => {
    expect(read()).toMatchObject([{ branch: "main", commit: COMMIT, files: undefined, isSkipRequested: false }]);
  });

  test("of several branches at once is one for each, without those that were removed and without tags", () => {
    const change = (name: string, type = "branch") => ({ new: { type, name, target: { hash: COMMIT } }, commits: [] });
    const changes = [change("a"), { new: null }, change("v1", "tag"), change("b")];
    const pushes = webhookIntents("bitbucket", "repo:push", { push: { changes } });
    expect(pushes).toMatchObject([{ branch: "a" }, { branch: "b" }]);
  });

  test("of one branch many times is one, of its last commit", () => {
    const change = (hash: string) => ({ new: { type: "branch", name: "a", target: { hash } } });
    const changes = [...Array.from({ length: 1000 }, () => change("a".repeat(40))), change(COMMIT)];
    expect(webhookIntents("bitbucket", "repo:push", { push: { changes } })).toMatchObject([{ commit: COMMIT }]);
  });
});

describe("a pull request", () => {
  const request = (fields: object = {}) => ({
    action: "opened",
    number: 7,
    pull_request: {
      head: { ref: "changes", sha: COMMIT, repo: { full_name: "team/hello" } },
      base: { ref: "main", sha: COMMIT, repo: { full_name: "team/hello" } },
      ...fields,
    },
  });

  test.each([
    ["OWNER", true],
    ["MEMBER", true],
    ["COLLABORATOR", true],
    ["CONTRIBUTOR", true],
    ["FIRST_TIME_CONTRIBUTOR", false],
    ["NONE", false],
    [undefined, false],
  ])("of someone who is %s to the repository at GitHub is trusted: %s", (author_association, isTrusted) => {
    expect(webhookIntents("github", "pull_request", request({ author_association }))).toMatchObject([{ isTrusted }]);
  });

  test.each([
    ["the repository itself", { full_name: "team/hello" }, true],
    ["a fork", { full_name: "stranger/hello" }, false],
    ["a fork that is gone", null, false],
  ])("from %s at Gitea is trusted: %s", (_, repo, isTrusted) => {
    const head = { ref: "changes", sha: COMMIT, repo };
    expect(webhookIntents("gitea", "pull_request", request({ head }))).toMatchObject([{ isTrusted }]);
  });

  test.each([
    ["opened", 1],
    ["merged", 0],
    ["closed", 0],
  ])("of GitLab that is %s and gets a new title leads to %s deployments", (state, count) => {
    const object_attributes = { iid: 7, action: "update", state, target_branch: "main", last_commit: { id: COMMIT } };
    expect(webhookIntents("gitlab", "merge_request", { object_attributes })).toHaveLength(count);
  });

  test.each([
    ["OPEN", 1],
    ["MERGED", 0],
    ["DECLINED", 0],
  ])("of Bitbucket that is %s and gets a new title leads to %s deployments", (state, count) => {
    const end = { branch: { name: "main" }, commit: { hash: COMMIT } };
    const pullrequest = { id: 7, state, source: end, destination: end };
    expect(webhookIntents("bitbucket", "pullrequest:updated", { pullrequest })).toHaveLength(count);
  });

  test.each(["labeled", "edited", "assigned", "constructor", "__proto__"])("that was %s leads to nothing", (action) => {
    expect(webhookIntents("github", "pull_request", { ...request(), action })).toEqual([]);
  });
});

describe("whatever comes", () => {
  const providers = Object.keys(WEBHOOK_PROVIDERS) as WebhookProvider[]; // The type of `Object.keys` is wider.
  const bodies: readonly unknown[] = [null, [], "text", 1, {}, { repository: 1, project: [] }, { repository: {} }];

  test.each(providers)("a body that is none of %s's is refused", (provider) => {
    for (const body of bodies) {
      expect(isMalformed(() => webhookRepository(provider, body))).toBe(true);
      for (const event of Object.keys(WEBHOOK_PROVIDERS[provider].events)) {
        expect(isMalformed(() => webhookIntents(provider, event, body))).toBe(true);
      }
    }
  });

  test.each(["issues", "star", "constructor", "__proto__", "toString"])("the event %s leads to nothing", (event) => {
    for (const provider of providers) expect(webhookIntents(provider, event, {})).toEqual([]);
  });

  test("an event without a name is refused", () => {
    expect(isMalformed(() => webhookEvent("github", undefined, {}))).toBe(true);
    expect(isMalformed(() => webhookEvent("gitlab", "Push Hook", {}))).toBe(true);
    expect(webhookEvent("gitlab", undefined, { object_kind: "push" })).toBe("push");
    expect(webhookEvent("gitlab", "System Hook", { event_name: "project_create" })).toBe("project_create");
  });

  test.each(["team/he\u0000llo", "team/\ud800", "", "x".repeat(3000)])("a name such as %j is refused", (full_name) => {
    expect(isMalformed(() => webhookRepository("github", { repository: { full_name } }))).toBe(true);
  });

  test.each(["HEAD", "main", "--upload-pack=x", "12345"])("a commit such as %s is refused", (after) => {
    expect(isMalformed(() => github({ after }))).toBe(true);
  });
});

test("a project below a path of its site is found with and without that path", () => {
  const project = { path_with_namespace: "Team/Hello", git_http_url: "https://host.example/gitlab/Team/Hello.git" };
  expect(webhookRepository("gitlab", { project }).keys).toEqual(["team/hello", "gitlab/team/hello"]);
});
