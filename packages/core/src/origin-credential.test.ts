import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OriginCredential } from "./origin-credential.ts";

const credential = new OriginCredential(["https://git.example.com/team"], "hidden");
const local = new OriginCredential(["http://127.0.0.1:9000"], "hidden");
const plain = new OriginCredential(["http://git.example.com"], "hidden");

describe("a credential", () => {
  test.each([
    "https://git.example.com",
    "https://git.example.com/other/path?query",
    "https://GIT.example.com:443/",
    "https://me:secret@git.example.com/",
  ])("is for %s, which has its origin", (url) => expect(credential.for(url)).toBe("hidden"));

  test.each([
    "http://git.example.com",
    "https://git.example.com:8443",
    "https://git.example.com.evil.example",
    "https://evil.example/git.example.com",
    "https://git.example.com@evil.example/",
    "https://sub.git.example.com",
    "https://git.example.com.",
    "ssh://git.example.com/team",
    "git@git.example.com:team",
    "",
  ])("is not for %s", (url) => expect(credential.for(url)).toBeUndefined());

  test("is sent over plain http to loopback alone", () => {
    expect(plain.for("http://git.example.com")).toBeUndefined();
    expect(local.for("http://127.0.0.1:9000/bucket")).toBe("hidden");
    expect(local.for("http://127.0.0.1:9001/bucket")).toBeUndefined();
    for (const host of ["localhost", "minio.localhost", "[::1]", "127.1"]) {
      expect(new OriginCredential([`http://${host}:1`], "hidden").for(`http://${host}:1/`)).toBe("hidden");
    }
    for (const host of ["localhost.example", "10.0.0.1", "[::2]", "127.0.0.1.example"]) {
      expect(new OriginCredential([`http://${host}:1`], "hidden").for(`http://${host}:1/`)).toBeUndefined();
    }
  });

  test("is for http and https alone", () => {
    expect(new OriginCredential(["ssh://git.example.com"], "hidden").for("ssh://git.example.com")).toBeUndefined();
  });

  test("shows nothing of itself", () => {
    expect(JSON.stringify({ credential })).not.toContain("hidden");
    expect(Object.values(credential)).toEqual([["https://git.example.com"]]);
  });

  test("of one origin is never for another", () => {
    fc.assert(
      fc.property(fc.webUrl(), fc.webUrl(), (url, other) => {
        const isSent = new OriginCredential([url], "hidden").for(other) !== undefined;
        expect(isSent).toBe(new URL(url).origin === new URL(other).origin && other.startsWith("https:"));
      }),
    );
  });
});
