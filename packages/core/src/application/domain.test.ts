import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DomainHolder } from "../ports/records.ts";
import { domainConflicts, joinUrls, parseDomainUrl, parseUrlList, splitUrls } from "./domain.ts";
import { domainConflictError } from "./domain-conflict.ts";

const claimOf = (text: string) => {
  const read = parseDomainUrl(text);
  if ("problem" in read) throw new Error(read.problem);
  return read.claim;
};

describe("a URL of a resource", () => {
  test.each([
    ["http://a.example", "a.example", "/", "http://a.example"],
    ["HTTPS://A.Example", "a.example", "/", "https://a.example"],
    ["https://a.example/", "a.example", "/", "https://a.example/"],
    ["https://a.example:3000", "a.example", "/", "https://a.example:3000"],
    ["https://a.example:3000/Api/", "a.example", "/Api", "https://a.example:3000/Api/"],
    ["https://a.example//x///y", "a.example", "/x/y", "https://a.example//x///y"],
    ["https://a.example/x/../y", "a.example", "/y", "https://a.example/x/../y"],
    ["https://a.example/%7Euser", "a.example", "/~user", "https://a.example/%7Euser"],
    ["https://a.example/%c3%a4", "a.example", "/%C3%A4", "https://a.example/%c3%a4"],
    ["http://bücher.example", "xn--bcher-kva.example", "/", "http://xn--bcher-kva.example"],
    ["http://hello.localhost", "hello.localhost", "/", "http://hello.localhost"],
    ["http://my_app.example", "my_app.example", "/", "http://my_app.example"],
    ["http://a.example.", "a.example", "/", "http://a.example"],
    ["http://10.0.0.1", "10.0.0.1", "/", "http://10.0.0.1"],
    ["http://0x7f.1", "127.0.0.1", "/", "http://127.0.0.1"],
    ["http://[::1]:80/x", "[::1]", "/x", "http://[::1]:80/x"],
  ])("%s claims %s%s and is shown as it was given", (text, host, path, url) => {
    expect(claimOf(text)).toEqual({ host, path, url });
  });

  test.each([
    ["nothing but words", "Invalid URL: nothing but words"],
    ["a.example", "Invalid URL: a.example"],
    ["//a.example", "Invalid URL: //a.example"],
    ["http://", "Invalid URL: http://"],
    ["http:///path", "Invalid URL: http:///path"],
    ["http://a b.example", "Invalid URL: http://a b.example"],
    ["http://user@a.example", "Invalid URL: http://user@a.example"],
    ["http://user:secret@a.example", "Invalid URL: http://user:secret@a.example"],
    ["http://a.example?x=1", "Invalid URL: http://a.example?x=1"],
    ["http://a.example/#top", "Invalid URL: http://a.example/#top"],
    ["http://a.example:99999", "Invalid URL: http://a.example:99999"],
    ["http://a.example:0", "Invalid URL: http://a.example:0"],
    ["http://a.example:", "Invalid URL: http://a.example:"],
    ["http://*.a.example", "Invalid URL: http://*.a.example"],
    ["http://-a.example", "Invalid URL: http://-a.example"],
    ["http://a..example", "Invalid URL: http://a..example"],
    [`http://${"a".repeat(64)}.example`, `Invalid URL: http://${"a".repeat(64)}.example`],
    ["http://a.example/$(id)", "Invalid URL: http://a.example/$(id)"],
    ["http://a.example/`id`", "Invalid URL: http://a.example/`id`"],
    ["http://a.example/%ff", "Invalid URL: http://a.example/%ff"],
    ["ftp://a.example", "Invalid URL scheme: ftp for URL: ftp://a.example. Only http and https are supported."],
    ["file:///etc", "Invalid URL scheme: file for URL: file:///etc. Only http and https are supported."],
  ])("refuses %s", (text, problem) => {
    expect(parseDomainUrl(text)).toEqual({ problem });
  });

  test("never throws, and what it accepts reads as itself again", () => {
    const text = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.string({ unit: "grapheme" }).map((tail) => `http://${tail}`),
      fc.string(),
    );
    fc.assert(
      fc.property(text, (url) => {
        const read = parseDomainUrl(url);
        if ("problem" in read) return;
        expect(claimOf(read.claim.url)).toEqual(read.claim);
        expect(read.claim.host).toBe(read.claim.host.toLowerCase());
        expect(read.claim.path).toMatch(/^\/([^/].*[^/]|[^/])?$/);
      }),
    );
  });

  test("claims the same whatever the scheme, the case of the host, the port and slashes at the end", () => {
    const label = fc.stringMatching(/^[a-z][a-z0-9]{0,10}$/);
    fc.assert(
      fc.property(label, fc.array(label, { maxLength: 3 }), fc.integer({ min: 1, max: 65_535 }), (name, path, port) => {
        const tail = path.map((segment) => `/${segment}`).join("");
        const { host, path: claimed } = claimOf(`http://${name}.example${tail}`);
        const other = claimOf(`HTTPS://${name.toUpperCase()}.EXAMPLE:${port}${tail}/`);
        expect({ host: other.host, path: other.path }).toEqual({ host, path: claimed });
      }),
    );
  });
});

describe("a list of URLs", () => {
  test("may have blanks and commas at its ends", () => {
    const { claims, problems } = parseUrlList(", http://a.example , https://b.example/x,");
    expect([claims.map(({ url }) => url), problems]).toEqual([["http://a.example", "https://b.example/x"], []]);
  });

  test("reports every wrong one", () => {
    expect(parseUrlList("http://a.example,nope,ftp://b").problems).toEqual([
      "Invalid URL: nope",
      "Invalid URL scheme: ftp for URL: ftp://b. Only http and https are supported.",
    ]);
  });

  test("holds one URL for each host and path, the one with https", () => {
    const { claims } = parseUrlList("http://a.example,http://b.example,https://A.example/");
    expect(claims.map(({ url }) => url)).toEqual(["https://A.example/".toLowerCase(), "http://b.example"]);
  });

  test("is stored as it is read", () => {
    const { claims } = parseUrlList("http://a.example,https://b.example:8080/x");
    expect(splitUrls(joinUrls(claims))).toEqual(["http://a.example", "https://b.example:8080/x"]);
    expect([joinUrls([]), splitUrls(null)]).toEqual([null, []]);
  });
});

describe("a domain conflict", () => {
  const holder = (text: string, team_id: number): DomainHolder => ({
    ...claimOf(text),
    team_id,
    resource_uuid: "holder",
    resource_name: "shop",
    resource_kind: "application",
    pull_request_id: 0,
    container_name: null,
  });
  const check = (urls: string, holders: DomainHolder[], instanceUrl: string | null = null) =>
    domainConflicts({ claims: parseUrlList(urls).claims, holders, teamId: 1, instanceUrl });

  test("names who of the team holds the domain, and may be overridden", () => {
    const found = check("https://a.example/x", [holder("http://a.example/x", 1)]);
    expect(found).toEqual({
      isOverridable: true,
      conflicts: [
        {
          domain: "a.example/x",
          resource_name: "shop",
          resource_uuid: "holder",
          resource_type: "application",
          message: "Domain a.example/x is already in use by application 'shop'.",
        },
      ],
    });
    expect(domainConflictError(found, true)).toBeUndefined();
    expect(domainConflictError(found, false)).toMatchObject({
      code: "domain.conflict",
      message: "Domain conflicts detected. Use force_domain_override=true to proceed.",
      details: { conflicts: found.conflicts, warning: expect.any(String) },
    });
  });

  test("tells nothing of another team, and is never overridden", () => {
    const found = check("http://a.example", [holder("http://a.example", 2)]);
    expect(found.isOverridable).toBe(false);
    expect(JSON.stringify(found)).not.toMatch(/shop|holder/);
    expect(domainConflictError(found, true)?.code).toBe("domain.conflict");
  });

  test("is none between different paths of one host in one team", () => {
    const found = check("http://a.example/x", [holder("http://a.example", 1), holder("http://a.example/x/y", 1)]);
    expect(found).toEqual({ conflicts: [], isOverridable: true });
  });

  test("is any path of a host that another team holds, which is told once and without its paths", () => {
    const found = check("http://a.example/x", [holder("http://a.example", 2), holder("http://a.example/theirs", 2)]);
    expect(found.conflicts).toMatchObject([{ domain: "a.example", resource_uuid: null }]);
    expect(JSON.stringify(found)).not.toContain("theirs");
    expect(domainConflictError(found, true)?.code).toBe("domain.conflict");
  });

  test("is none with what another team holds elsewhere", () => {
    expect(check("http://a.example", [holder("http://b.example", 2)])).toEqual({ conflicts: [], isOverridable: true });
  });

  test("protects the instance's own URL, even by force", () => {
    const found = check("http://berth.example/", [], "https://berth.example:8000");
    expect(found.conflicts).toMatchObject([{ resource_type: "instance", resource_uuid: null }]);
    expect(domainConflictError(found, true)?.code).toBe("domain.conflict");
  });

  test("protects every path of the instance's own host", () => {
    const found = check("http://berth.example/api", [], "https://berth.example:8000");
    expect(found).toMatchObject({ conflicts: [{ resource_type: "instance" }], isOverridable: false });
  });
});
