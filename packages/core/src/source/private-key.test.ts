import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DomainError } from "../errors.ts";
import type { GitCredentials } from "../ports/source.ts";
import {
  basicCredentials,
  credentialsFor,
  keyInUse,
  PrivateKeyCreate,
  privateKeyText,
  repositoryFor,
} from "./private-key.ts";

const PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nYWJj\n-----END OPENSSH PRIVATE KEY-----\n";

const problemOf = (work: () => unknown): readonly string[] => {
  try {
    work();
    return [];
  } catch (error) {
    return error instanceof DomainError ? (error.fields?.private_key ?? []) : [String(error)];
  }
};

describe("the text of a key", () => {
  test("is the same, however it is sent", () => {
    const body = fc.stringMatching(/^[A-Za-z0-9+/\n]{1,400}$/);
    const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
    fc.assert(
      fc.property(body, lineEnd, fc.boolean(), fc.constantFrom(0, 64, 76), (text, end, isBase64, wrapAt) => {
        const pem = `-----BEGIN X-----\n${text}\n-----END X-----\n`;
        const sent = pem.replaceAll("\n", end);
        const encoded = btoa(sent);
        const wrapped = wrapAt === 0 ? encoded : encoded.replaceAll(new RegExp(`.{${wrapAt}}`, "g"), `$&${end}`);
        expect(privateKeyText(isBase64 ? wrapped : `  ${sent}\n\n`)).toBe(pem);
      }),
    );
  });

  test("is refused without being repeated when it is none", () => {
    const refused = ["secret", btoa("secret"), "", "====", "\u0000", "ssh-ed25519 AAAAC3Nz someone"];
    for (const text of refused) {
      const problems = problemOf(() => privateKeyText(text));
      expect(problems[0]).toBe("Invalid private key.");
      expect(problems.join()).not.toMatch(/secret|AAAAC3Nz/);
    }
    expect(problemOf(() => privateKeyText("ssh-ed25519 AAAAC3Nz someone"))[1]).toMatch(/public key/);
  });
});

describe("a new key", () => {
  test("takes an empty text for none, as clients of this API family send it", () => {
    const sent = { private_key: PEM, description: "", http_basic_auth_username: "", is_http_basic_auth_enabled: "0" };
    expect(PrivateKeyCreate.parse(sent)).toEqual({
      private_key: PEM,
      description: null,
      http_basic_auth_username: null,
      is_http_basic_auth_enabled: false,
    });
  });

  test("has a key, and fields within their bounds", () => {
    for (const wrong of [
      {},
      { private_key: "" },
      { private_key: null },
      { private_key: PEM, name: "x".repeat(256) },
      { private_key: PEM, description: "x".repeat(256) },
      { private_key: PEM, http_basic_auth_password: "x".repeat(256) },
      { private_key: PEM, fingerprint: "x" },
    ]) {
      expect(PrivateKeyCreate.safeParse(wrong).success).toBe(false);
    }
  });
});

describe("a repository", () => {
  const key = { is_http_basic_auth_enabled: true, http_basic_auth_username: "robot" };
  const secrets = {
    private_key: PEM,
    ssh_key: "ssh form",
    http_basic_auth_password: "hidden",
    login_origins: ["https://git.example"],
  };
  const ssh = { type: "ssh", privateKey: "ssh form" };

  test.each([
    ["ssh://git@git.example/team/shop.git", ssh],
    ["git@git.example:team/shop.git", ssh],
    // A password is never sent over plain http.
    ["http://git.example/team/shop.git", undefined],
    ["git://git.example/team/shop.git", undefined],
  ])("at %s is read with what fits it", (repository, expected) => {
    expect(credentialsFor(repository, key, secrets)).toEqual(expected);
  });

  test("over https is read with the login, where that is for its host", () => {
    const loginAt = (repository: string) => {
      const credentials = credentialsFor(repository, key, secrets);
      return credentials?.type === "basic" ? credentials.login.for(repository) : undefined;
    };
    expect(loginAt("https://git.example/team/shop.git")).toEqual({ username: "robot", password: "hidden" });
    expect(loginAt("https://git.example:8443/team/shop.git")).toBeUndefined();
    expect(loginAt("https://evil.example/team/shop.git")).toBeUndefined();
  });

  test("over https is read over ssh where basic authentication is off or not whole", () => {
    const url = "https://git.example:8443/team/shop.git";
    expect(credentialsFor(url, { ...key, is_http_basic_auth_enabled: false }, secrets)).toEqual(ssh);
    expect(credentialsFor(url, { ...key, http_basic_auth_username: null }, secrets)).toEqual(ssh);
    expect(credentialsFor(url, key, { ...secrets, http_basic_auth_password: null })).toEqual(ssh);
  });

  test.each([
    ["https://git.example:8443/team/shop.git", "ssh", "ssh://git@git.example/team/shop.git"],
    ["https://git.example/team/shop.git", "basic", "https://git.example/team/shop.git"],
    ["https://git.example/team/shop.git", undefined, "https://git.example/team/shop.git"],
    ["git@git.example:team/shop.git", "ssh", "git@git.example:team/shop.git"],
    ["ssh://me@git.example:2222/shop.git", "ssh", "ssh://me@git.example:2222/shop.git"],
  ] as const)("at %s with credentials of the sort %s is read at %s", (repository, type, address) => {
    const ways: readonly GitCredentials[] = [
      { type: "ssh", privateKey: "k" },
      basicCredentials(["https://git.example"], { username: "robot", password: "hidden" }),
    ];
    const credentials = ways.find((way) => way.type === type);
    expect(repositoryFor(repository, credentials)).toBe(address);
  });
});

test("a key in use says who holds it, and how many more", () => {
  const users = Array.from({ length: 7 }, (_, n) => ({ kind: "server" as const, name: `web-${n}` }));
  expect(keyInUse(users).details).toEqual({
    details: "Used by server web-0, server web-1, server web-2, server web-3, server web-4, 2 more.",
  });
  expect(keyInUse(users.slice(0, 1)).fields?._).toEqual([
    "Private Key is in use and cannot be deleted.",
    "Used by server web-0.",
  ]);
});
