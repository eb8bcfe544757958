import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseDomainUrl } from "./domain.ts";
import { previewClaim, previewTemplateProblems, pullRequestRef, storageOf } from "./preview.ts";

const DEFAULT = "{{pr_id}}.{{domain}}";
const claim = (template: string, fqdn: string | null, pullRequestId = 7) =>
  previewClaim({ template, fqdn, pullRequestId, random: "a1b2c3d4" });

describe("the URL of a preview", () => {
  test.each([
    [DEFAULT, "https://shop.example.com", "https://7.shop.example.com"],
    [DEFAULT, "http://shop.localhost", "http://7.shop.localhost"],
    [DEFAULT, "https://one.example,https://two.example", "https://7.one.example"],
    [DEFAULT, "https://shop.example.com:8080/cart/", "https://7.shop.example.com:8080/cart/"],
    [DEFAULT, "https://bücher.example", "https://7.xn--bcher-kva.example"],
    ["pr-{{pr_id}}-{{domain}}", "https://shop.example.com", "https://pr-7-shop.example.com"],
    ["{{ random }}.{{pr_id}}.previews.example", "https://shop.example.com", "https://a1b2c3d4.7.previews.example"],
    ["PR{{pr_id}}.{{domain}}", "https://shop.example.com", "https://pr7.shop.example.com"],
    ["{{pr_id}}.{{pr_id}}.{{domain}}", "https://shop.example.com", "https://7.7.shop.example.com"],
  ])("of %s for %s is %s", (template, fqdn, url) => {
    expect(claim(template, fqdn)?.url).toBe(url);
  });

  test.each([
    [DEFAULT, null],
    [DEFAULT, ""],
    [DEFAULT, "http://203.0.113.9"],
    [DEFAULT, "http://[2001:db8::1]"],
    ["{{pr_id}}.{{nothing}}", "https://shop.example.com"],
    ["{{pr_id}}/{{domain}}", "https://shop.example.com"],
    ["{{pr_id}}@{{domain}}", "https://shop.example.com"],
    [`{{pr_id}}.${"a".repeat(64)}.{{domain}}`, "https://shop.example.com"],
  ])("of %s for %j cannot be made", (template, fqdn) => {
    expect(claim(template, fqdn)).toBeUndefined();
  });

  test("is claimed with its path", () => {
    expect(claim(DEFAULT, "https://a.example/shop/")).toMatchObject({ host: "7.a.example", path: "/shop" });
  });

  test("is a URL of its own for each pull request, and never the application's", () => {
    const label = fc.stringMatching(/^[a-z0-9]{1,10}$/);
    const ids = fc.integer({ min: 1, max: 2 ** 31 - 1 });
    fc.assert(
      fc.property(label, ids, ids, fc.constantFrom("", "/a", "/a/b"), (name, one, two, path) => {
        const fqdn = `https://${name}.example${path}`;
        const [first, second] = [claim(DEFAULT, fqdn, one), claim(DEFAULT, fqdn, two)];
        expect(first?.host === second?.host).toBe(one === two);
        const own = parseDomainUrl(fqdn);
        expect("claim" in own && own.claim.path).toBe(first?.path);
        expect("claim" in own && own.claim.host).not.toBe(first?.host);
      }),
    );
  });
});

describe("a template", () => {
  test.each([DEFAULT, "{{random}}.{{domain}}", "{{pr_id}}-x.example.com"])("%s is taken", (template) => {
    expect(previewTemplateProblems(template)).toEqual([]);
  });

  test.each(["{{domain}}", "fixed.example.com", "", "{{pr_id}} {{domain}}", "http://{{pr_id}}.{{domain}}", "{{pr}}.x"])(
    "%j is refused",
    (template) => {
      expect(previewTemplateProblems(template)).toHaveLength(1);
    },
  );

  test("that is taken always gives a URL for a host with a name", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const template = `${text}{{pr_id}}.{{domain}}`;
        fc.pre(previewTemplateProblems(template).length === 0);
        expect(claim(template, "https://app.example.com")).toBeDefined();
      }),
    );
  });
});

describe("a preview's storage", () => {
  const storage = { uuid: "s1", name: "app-data", host_path: null, is_preview_suffix_enabled: true };
  test("is its own, with the pull request in its name", () => {
    expect(storageOf(storage, 7)).toEqual({ ...storage, uuid: "s1-pr-7", name: "app-data-pr-7" });
  });
  test("is the application's when it is shared, and outside of a preview", () => {
    const shared = { ...storage, is_preview_suffix_enabled: false };
    expect(storageOf(shared, 7)).toEqual(shared);
    expect(storageOf(storage, 0)).toEqual(storage);
  });
});

describe("the head of a pull request", () => {
  test.each([
    [null, "https://github.com/me/app", "refs/pull/7/head"],
    [null, "git@git.example:me/app.git", "refs/pull/7/head"],
    [null, "file:///srv/gitlab/app", "refs/pull/7/head"],
    [null, "https://gitlab.com/me/app", "refs/merge-requests/7/head"],
    [null, "git@gitlab.example.com:me/app.git", "refs/merge-requests/7/head"],
    ["gitlab", "https://git.example/me/app", "refs/merge-requests/7/head"],
    ["gitea", "https://gitlab.example/me/app", "refs/pull/7/head"],
    [null, "https://bitbucket.org/me/app", undefined],
    ["bitbucket", "https://git.example/me/app", undefined],
  ])("at a host of type %s at %s is %s", (type, repository, ref) => {
    expect(pullRequestRef(type, repository, 7)).toBe(ref);
  });
});
