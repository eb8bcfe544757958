import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "../application/application.ts";
import { followsBranch, pullRequestDecision, pushDecision } from "./decision.ts";
import { type PullRequestChange, type Push, repositoryKey, requestsSkip } from "./intent.ts";

const settings = (fields: Partial<ApplicationSettings> = {}) =>
  ApplicationSettings.parse({ build_pack: "nixpacks", git_branch: "main", ...fields });
const push = (fields: Partial<Push> = {}): Push => ({
  type: "push",
  branch: "main",
  commit: "a".repeat(40),
  files: ["src/a.ts"],
  isSkipRequested: false,
  ...fields,
});
const change = (fields: Partial<PullRequestChange> = {}): PullRequestChange => ({
  type: "pull_request",
  action: "open",
  number: 7,
  base: "main",
  commit: "a".repeat(40),
  isTrusted: true,
  url: null,
  ...fields,
});

describe("a push", () => {
  test("is deployed", () => {
    expect(pushDecision(settings(), push())).toEqual({ action: "deploy" });
  });

  test("is not deployed when automatic deployments are off", () => {
    expect(pushDecision(settings({ is_auto_deploy_enabled: false }), push())).toMatchObject({ action: "skip" });
  });

  test.each<[messages: string[] | undefined, action: string]>([
    [["Fix [skip ci]"], "skip"],
    [["[SKIP CD] a", "b\n\n[skip ci]"], "skip"],
    [["Fix [skip ci]", "Another"], "deploy"],
    [["[skip]"], "deploy"],
    [["skip ci"], "deploy"],
    [[], "deploy"],
    [undefined, "deploy"],
  ])("with the messages %j is asked to %s", (messages, action) => {
    expect(pushDecision(settings(), push({ isSkipRequested: requestsSkip(messages) })).action).toBe(action);
  });

  test("is not deployed when it touches nothing that is watched, and says what that is", () => {
    const decision = pushDecision(settings({ watch_paths: "docs/**" }), push());
    expect(decision).toEqual({
      action: "skip",
      message: "Changed files do not match watch paths.",
      details: { changed_files: ["src/a.ts"], watch_paths: "docs/**" },
    });
  });

  test("is deployed when nobody knows what it touches", () => {
    expect(pushDecision(settings({ watch_paths: "docs/**" }), push({ files: undefined })).action).toBe("deploy");
  });
});

describe("a pull request", () => {
  const on = { is_preview_deployments_enabled: true };
  test.each<[fields: Partial<ApplicationSettings>, change: Partial<PullRequestChange>, action: string]>([
    [{}, {}, "skip"],
    [on, {}, "deploy"],
    [on, { action: "update" }, "deploy"],
    [on, { isTrusted: false }, "skip"],
    [{ ...on, is_pr_deployments_public_enabled: true }, { isTrusted: false }, "deploy"],
    [{ is_pr_deployments_public_enabled: true }, { isTrusted: false }, "skip"],
    [{ ...on, watch_paths: "docs/**" }, {}, "deploy"],
    [on, { action: "close" }, "close"],
    [{}, { action: "close", isTrusted: false }, "close"],
  ])("with %j and %j: %s", (fields, fieldsOfChange, action) => {
    expect(pullRequestDecision(settings(fields), change(fieldsOfChange)).action).toBe(action);
  });
});

test.each([
  ["main", "main", true],
  ["main", "Main", false],
  ["main", "feature/main", false],
  ["refs/heads/main", "main", true],
  ["HEAD", "main", true],
  ["HEAD", "next", false],
  ["", "main", true],
])("an application of branch %s follows %s: %s", (git_branch, branch, follows) => {
  expect(followsBranch({ git_branch }, branch, { defaultBranch: "main" })).toBe(follows);
});

test.each([
  ["https://github.com/Team/Hello.git", "team/hello"],
  ["http://user@git.example:3000/team/hello/", "team/hello"],
  ["ssh://git@git.example:2222/team/hello.git", "team/hello"],
  ["git@git.example:team/sub/hello.git", "team/sub/hello"],
  ["git://git.example/team/hello", "team/hello"],
  ["file:///srv/git/hello.git", "srv/git/hello"],
  ["Team/hello", "team/hello"],
  ["/team/hello.git/", "team/hello"],
  ["", ""],
])("the repository %s is found as %s", (address, key) => {
  expect(repositoryKey(address)).toBe(key);
});
