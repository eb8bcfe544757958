import { describe, expect, test } from "vitest";
import { parseRepositoryName } from "./hosted-repository.ts";

const parsed = (text: string, site = "https://github.com") => {
  const name = parseRepositoryName(text, site);
  return name && `${name.owner} ${name.name}`;
};

describe("the name of a repository", () => {
  test.each([
    ["acme/web"],
    ["/acme/web/"],
    ["acme/web.git"],
    ["https://github.com/acme/web"],
    ["https://GitHub.com/acme/web.git"],
    ["http://github.com/acme/web/"],
    ["github.com/acme/web"],
    ["git@github.com:acme/web.git"],
    [" acme/web "],
  ])("is read from %s", (text) => {
    expect(parsed(text)).toBe("acme web");
  });

  test("may hold dots, and be written at an enterprise's own site", () => {
    expect(parsed("acme/acme.github.io")).toBe("acme acme.github.io");
    expect(parsed("https://git.acme.example/acme/web", "https://git.acme.example/")).toBe("acme web");
  });

  test.each([
    ["acme"],
    [""],
    ["acme/web/tree/main"],
    ["https://gitlab.com/acme/web"],
    ["../user"],
    ["acme/.."],
    ["acme/web?x=1"],
    ["acme/web#x"],
    ["ac me/web"],
    ["acme/%2e%2e"],
    ["git@other.example:acme/web"],
  ])("is none in %s", (text) => {
    expect(parsed(text)).toBeUndefined();
  });
});
