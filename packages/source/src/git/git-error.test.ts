import { parseGitUrl } from "@berth/core/source";
import { describe, expect, test } from "vitest";
import { gitFailure } from "./git-error.ts";

const url = parseGitUrl("https://git.example/team/app.git");
const read = (stderr: string, hasCredentials = false) => {
  const failure = gitFailure({ url, hasCredentials, stderr: stderr.split("\n") });
  return failure.type === "error" ? `${failure.error.code} ${failure.error.message}` : failure.type;
};

describe("what git says is told as", () => {
  test.each([
    [
      "fatal: could not read Username for 'https://git.example': terminal prompts disabled",
      "source.unauthorized git.example asks for a login",
    ],
    [
      "remote: HTTP Basic: Access denied\nfatal: Authentication failed for 'https://git.example/team/app.git/'",
      "source.unauthorized",
    ],
    ["fatal: unable to access 'https://git.example/': The requested URL returned error: 403", "source.unauthorized"],
    [
      "remote: Repository not found.\nfatal: repository 'https://git.example/team/app.git/' not found",
      "source.not_found No repository found at https://git.example/team/app.git.",
    ],
    [
      "fatal: couldn't find remote ref refs/pull/7/head",
      "source.not_found https://git.example/team/app.git has no refs/pull/7/head.",
    ],
    ["ERROR: Repository not found.\nfatal: Could not read from remote repository.", "source.not_found"],
    [
      "fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.",
      "source.not_found",
    ],
    [
      "git@git.example: Permission denied (publickey).\nfatal: Could not read from remote repository.",
      "source.unauthorized git.example asks for a key",
    ],
    [
      'Load key "k": error in libcrypto\ngit@git.example: Permission denied (publickey).',
      "source.unauthorized The private key",
    ],
    [
      "@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
      "source.unreachable The ssh key of git.example",
    ],
    [
      "fatal: unable to access 'https://git.example/': SSL certificate problem: self-signed certificate",
      "source.unreachable git.example has no certificate that this machine trusts: SSL certificate problem: self-signed certificate.",
    ],
    [
      "fatal: unable to access 'https://git.example/': Failed to connect to git.example port 443 after 3 ms: Couldn't connect to server",
      "source.unreachable git.example broke off: Failed to connect",
    ],
    [
      "error: RPC failed; curl 56\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output",
      "source.unreachable git.example broke off: RPC failed",
    ],
    ["fatal: unable to access 'https://git.example/': The requested URL returned error: 503", "source.unreachable"],
    ["fatal: write error: No space left on device", "engine.failed The disk is full"],
    [
      "fatal: something never heard of",
      "source.unreachable https://git.example/team/app.git could not be fetched: something never heard of.",
    ],
    ["", "source.unreachable"],
    ["fatal: unable to access 'https://git.example/': The requested URL returned error: 301", "redirected"],
    ["error: cannot lock ref 'refs/heads/a': Unable to create '/m/refs/heads/a.lock': File exists.", "locked"],
    ["fatal: not a git repository: '/m'", "damaged"],
    ["error: object file objects/ab/c is empty", "damaged"],
  ])("%j", (stderr, expected) => {
    expect(read(stderr)).toContain(expected);
  });

  test("another sentence when a login or key was given", () => {
    expect(read("fatal: Authentication failed for 'x'", true)).toContain("does not accept the login");
    expect(read("x: Permission denied (publickey).", true)).toContain("does not accept the private key");
  });
});
