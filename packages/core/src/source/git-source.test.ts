import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isDomainError } from "../errors.ts";
import { formatGitUrl, type GitUrl, parseGitRef, parseGitRevision, parseGitUrl, resolveGitUrl } from "./git-source.ts";

const url = (fields: Partial<GitUrl>): GitUrl => ({
  scheme: "https",
  username: null,
  password: null,
  host: "example.com",
  port: null,
  path: "/a/b.git",
  ...fields,
});

function problemOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!isDomainError(error, "source.invalid")) throw error;
    return error.message;
  }
}

describe("parseGitUrl", () => {
  test.each<[string, Partial<GitUrl>]>([
    ["https://example.com/a/b.git", {}],
    ["HTTPS://Example.COM./a/b.git", {}],
    ["https://example.com:443/a/b.git", {}],
    ["https://example.com:8443/a/b.git", { port: 8443 }],
    ["http://example.com/a/b.git", { scheme: "http" }],
    ["https://me:p%40ss@example.com/a/b.git", { username: "me", password: "p@ss" }],
    ["https://token@example.com/a/b.git", { username: "token" }],
    ["https://bücher.example/a/b.git", { host: "xn--bcher-kva.example" }],
    ["https://2130706433/a/b.git", { host: "127.0.0.1" }],
    ["git://[::1]:9418/a/b.git", { scheme: "git", host: "[::1]" }],
    ["git://example.com:80/a/b.git", { scheme: "git", port: 80 }],
    ["ssh://example.com/a/b.git", { scheme: "ssh", username: "git" }],
    ["ssh://me@example.com:22/a/b.git", { scheme: "ssh", username: "me" }],
    [
      "ssh://git@0x7f.1:2222/~me/b.git",
      { scheme: "ssh", username: "git", host: "127.0.0.1", port: 2222, path: "/~me/b.git" },
    ],
    ["git@example.com:a/b.git", { scheme: "ssh", username: "git", path: "a/b.git" }],
    ["git@[::1]:/a/b.git", { scheme: "ssh", username: "git", host: "[::1]" }],
    ["git@example.com:/a/é%20b.git", { scheme: "ssh", username: "git", path: "/a/%C3%A9%2520b.git" }],
    ["git@example.com:a/é%20b.git", { scheme: "ssh", username: "git", path: "a/é%20b.git" }],
    ["file:///srv/a%20b.git", { scheme: "file", host: "", path: "/srv/a%20b.git" }],
    ["https://example.com/a/../../b.git", { path: "/b.git" }],
  ])("reads %s", (text, fields) => {
    expect(parseGitUrl(text)).toEqual(url(fields));
  });

  test.each([
    "",
    "/srv/repository",
    "../repository",
    "repository",
    "host:path",
    "--upload-pack=touch /tmp/x",
    "-oProxyCommand=touch",
    "ext::sh -c touch% /tmp/x",
    "ext::sh",
    "fd::3",
    "git@ext::sh",
    "https://-oProxyCommand=x/a",
    "ssh://-oProxyCommand=x/a",
    "ssh://-oProxyCommand=x@example.com/a",
    "-oProxyCommand=x@example.com:a",
    "git@-oProxyCommand=x:a",
    "git@example.com:-x",
    "git@example.com::x",
    "git@example.com:../../etc",
    "ssh://git:secret@example.com/a",
    "git://me@example.com/a",
    "ftp://example.com/a",
    "javascript://example.com/a",
    "file://otherhost/a",
    "file://me@/a",
    "file:///",
    "https://example.com",
    "https://example.com/",
    "https:///a",
    "https://example.com:0/a",
    "https://example.com:99999/a",
    "https://example.com/a?x=1",
    "https://example.com/a#x",
    "https://example.com/a%0aHost:%20x",
    "https://example.com/a%00b",
    "https://example.com/a%zz",
    "https://example.com/a b",
    "https://example.com/a\nb",
    "https://example.com/$(touch x)",
    "https://example.com/a;touch",
    "https://exa\u202emple.com/a",
    "https://example.com\\@evil.example/a",
    `https://example.com/${"a".repeat(3000)}`,
  ])("refuses %j", (text) => {
    expect(problemOf(() => parseGitUrl(text))).toMatch(/^The address of the repository .+ Correct git_repository\.$/);
  });

  test("never repeats a secret in what it refuses", () => {
    expect(problemOf(() => parseGitUrl("ssh://git:hunter2@example.com/a"))).not.toContain("hunter2");
    expect(problemOf(() => parseGitUrl("https://me:hunter2@exa mple.com/a"))).not.toContain("hunter2");
  });

  test("answers a normal form or source.invalid for any text", () => {
    const part = fc.constantFrom(
      ...["https", "ssh", "git", "file", "ext", "://", "::", ":", "/", "//", "@", "-", "..", ".", "%2e", "%", "host"],
      ...["[::1]", "127.1", "git@", "a:b@", "?", "#", "\\", "-o", "~", "refs", "é", "\0", "\n", ":22", ":0"],
    );
    const text = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.array(part, { maxLength: 12 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (input) => {
        if (problemOf(() => parseGitUrl(input)) !== undefined) return;
        const parsed = parseGitUrl(input);
        const formatted = formatGitUrl(parsed);
        expect(formatted).toMatch(/^(https?|git|ssh|file):\/\/|^[A-Za-z0-9_][\w.-]*@[a-z0-9_[][^:]*/);
        expect(formatted).not.toMatch(/^[a-z0-9+.-]*::/i);
        const isHttp = parsed.scheme === "https" || parsed.scheme === "http";
        expect(parseGitUrl(formatted)).toEqual(isHttp ? { ...parsed, username: null, password: null } : parsed);
      }),
      { numRuns: 5000, examples: [["git@host:/é"], ["git@host:/./%2e"]] },
    );
  });
});

describe("formatGitUrl", () => {
  test("leaves credentials out", () => {
    expect(formatGitUrl(parseGitUrl("https://me:hunter2@example.com:8443/a.git"))).toBe(
      "https://example.com:8443/a.git",
    );
  });

  test("keeps the login of ssh, which is part of the address", () => {
    expect(formatGitUrl(parseGitUrl("me@example.com:a.git"))).toBe("me@example.com:a.git");
    expect(formatGitUrl(parseGitUrl("ssh://example.com:22/a.git"))).toBe("ssh://git@example.com/a.git");
  });
});

describe("resolveGitUrl", () => {
  test.each([
    ["https://example.com/team/app.git", "../lib.git", "https://example.com/team/lib.git"],
    ["https://example.com/team/app.git/", "../../other/lib.git", "https://example.com/other/lib.git"],
    ["https://example.com/team/app", "./lib", "https://example.com/team/app/lib"],
    ["git@example.com:team/app.git", "../lib.git", "git@example.com:team/lib.git"],
    ["file:///srv/app", "../lib", "file:///srv/lib"],
    ["https://example.com/team/app.git", "git://other.example/lib", "git://other.example/lib"],
  ])("resolves against %s the address %s", (base, text, expected) => {
    expect(formatGitUrl(resolveGitUrl(parseGitUrl(base), text))).toBe(expected);
  });

  test.each(["../../../../x", "../..", "ext::sh -c x", "-u", "/etc/x", "../a/%0a"])("refuses %s", (text) => {
    expect(problemOf(() => resolveGitUrl(parseGitUrl("https://example.com/a/b"), text))).toBeDefined();
  });
});

describe("parseGitRef", () => {
  test.each([
    ["main", "refs/heads/main"],
    ["feature/a-b_c.d", "refs/heads/feature/a-b_c.d"],
    ["größe", "refs/heads/größe"],
    ["+main", "refs/heads/+main"],
    ["refs/pull/7/head", "refs/pull/7/head"],
    ["", null],
    ["HEAD", null],
  ])("names what to fetch for %j", (branch, ref) => {
    expect(parseGitRef(branch)).toBe(ref);
  });

  test.each([
    ...[
      "--upload-pack=x",
      "-x",
      "a..b",
      "a b",
      "a~1",
      "a^",
      "a:b",
      "a?",
      "a*",
      "a[b",
      "a\\b",
      "/a",
      "a/",
      "a//b",
      ".a",
    ],
    ...["a/.b", "a.lock", "a.lock/b", "a.", "a@{1}", "a\nb", "a\0b", "refs/", "refs/x", "x".repeat(300)],
  ])("refuses %j", (branch) => {
    expect(problemOf(() => parseGitRef(branch))).toContain("is not a branch name");
  });
});

describe("parseGitRevision", () => {
  const full = "0123456789abcdef0123456789abcdef01234567";
  test.each([
    ["HEAD", { type: "tip" }],
    ["", { type: "tip" }],
    [full.toUpperCase(), { type: "sha", sha: full, isFull: true }],
    ["0123abc", { type: "sha", sha: "0123abc", isFull: false }],
    ["v1.2.3", { type: "tag", ref: "refs/tags/v1.2.3" }],
    ["refs/tags/v1", { type: "tag", ref: "refs/tags/v1" }],
  ])("reads %j", (text, revision) => {
    expect(parseGitRevision(text)).toEqual(revision);
  });

  test.each(["--all", "-n1", "HEAD~1", "HEAD^{tree}", "a..b", ":/text", "@{-1}", "a b", "main:file", "$(x)\n"])(
    "refuses %j",
    (text) => {
      expect(problemOf(() => parseGitRevision(text))).toContain("is not a commit");
    },
  );
});
