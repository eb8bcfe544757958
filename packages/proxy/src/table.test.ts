import { posix } from "node:path";
import type { Site, SiteRoute } from "@berth/core/ports";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findRoute, hostName, hostPort, type RouteEntry, RouteTable } from "./table.ts";

const site = (id: string, ...routes: SiteRoute[]): Site => ({ id, name: id, routes, upstreams: [] });

const TABLE = new RouteTable([
  site("web", { host: "a.test", path: "/" }, { host: "www.a.test", path: "/", redirectToHost: "a.test" }),
  site("api", { host: "a.test", path: "/api" }),
  site("deep", { host: "a.test", path: "/api/v2" }),
  site("part", { host: "part.test", path: "/only" }),
  site("whole", { host: "whole.test", path: "/" }),
]);

const idOf = (route: RouteEntry | "unknown" | "ambiguous") => (typeof route === "string" ? route : route.entry.site.id);

describe("findRoute", () => {
  it.each([
    ["/", "web"],
    ["/x", "web"],
    ["/api", "api"],
    ["/api/", "api"],
    ["/api/x", "api"],
    ["/api?x=/../..", "api"],
    ["/api#fragment", "api"],
    ["/apix", "web"],
    ["/api-docs", "web"],
    ["/api.json", "web"],
    ["/API", "web"],
    ["/api/v2", "deep"],
    ["/api/v2/users", "deep"],
    ["/api/v20", "api"],
    ["/?next=/api", "web"],
    ["/.well-known/acme-challenge/x", "web"],
    ["/x%2fy;z//../.", "web"],
    ["/api/x/../y", "api"],
    ["/api/%7Euser", "api"],
  ])("sends %s to %s", (target, expected) => {
    expect(idOf(findRoute(TABLE, "a.test", target))).toBe(expected);
  });

  it.each([
    ["/api/../x"],
    ["/api/..%2fx"],
    ["/api/%2e%2e/x"],
    ["/api/.%2E/x"],
    ["/api/..;/x"],
    ["/api/..;a=b/x"],
    ["/api/..\\x"],
    ["/api/..%5Cx"],
    ["/api/v2/../x"],
    ["/x/../api"],
    ["//api"],
    ["/%61pi"],
    ["/api;x=1/y"],
    ["/api%2fx"],
    ["\\api"],
    ["*"],
    ["http://a.test/api"],
    [""],
  ])("refuses %j, which an application may read as another site's", (target) => {
    expect(findRoute(TABLE, "a.test", target)).toBe("ambiguous");
  });

  it("refuses a path of a thousand tricks instead of reading it in every way", () => {
    expect(findRoute(TABLE, "a.test", "/x;y".repeat(1000))).toBe("ambiguous");
    expect(idOf(findRoute(TABLE, "a.test", "/x".repeat(1000)))).toBe("web");
  });

  it.each([["/api/../x"], ["//x"], ["/%2e%2e/..\\"]])("passes %j on where a host has one site", (target) => {
    expect(idOf(findRoute(TABLE, "whole.test", target))).toBe("whole");
  });

  it("knows nothing outside the only prefix of a host", () => {
    expect(findRoute(TABLE, "part.test", "/")).toBe("unknown");
    expect(idOf(findRoute(TABLE, "part.test", "/only/this"))).toBe("part");
    expect(findRoute(TABLE, "part.test", "/only/../../etc")).toBe("ambiguous");
  });

  it("knows no host that was not put, whatever objects inherit", () => {
    for (const host of ["b.test", "", "constructor", "__proto__", "a.test.evil.test", "xa.test"]) {
      expect(findRoute(TABLE, host, "/")).toBe("unknown");
    }
  });

  it("gives a route that two sites claim to the later one", () => {
    const table = new RouteTable([
      site("first", { host: "a.test", path: "/" }),
      site("second", { host: "a.test", path: "/" }),
    ]);
    expect(idOf(findRoute(table, "a.test", "/"))).toBe("second");
  });
});

const segment = fc.constantFrom("api", "v2", "x", "apix", "API", "a.b", "%61pi", "api;p=1", "caf%C3%A9");
const trick = fc.constantFrom(
  "..",
  ".",
  "%2e%2e",
  ".%2E",
  "%2e",
  "..;x",
  "",
  "..%2f..",
  "..%5c",
  "..\\..",
  "%252e%252e",
);
const target = fc
  .tuple(
    fc.array(fc.oneof({ weight: 2, arbitrary: segment }, trick), { maxLength: 6 }),
    fc.constantFrom("", "?q=/../api", "#/api"),
  )
  .map(([parts, tail]) => `/${parts.join("/")}${tail}`);
const prefix = fc
  .array(fc.constantFrom("api", "v2", "x", "caf%C3%A9"), { maxLength: 3 })
  .map((parts) => `/${parts.join("/")}`);
const prefixes = fc.uniqueArray(prefix, { minLength: 1, maxLength: 5 });

const tableOf = (paths: readonly string[]) => new RouteTable(paths.map((path) => site(path, { host: "h.test", path })));
const isBelow = (path: string, parent: string) => parent === "/" || path === parent || path.startsWith(`${parent}/`);
const rawPath = (text: string) => text.replace(/[?#].*$/s, "");

describe("findRoute, whatever is sent", () => {
  it("takes the longest prefix of the raw path", () => {
    fc.assert(
      fc.property(
        prefixes,
        fc.oneof(
          target,
          fc.string().map((text) => `/${text}`),
        ),
        (paths, sent) => {
          const found = findRoute(tableOf(paths), "h.test", sent);
          const matching = paths.filter((path) => isBelow(rawPath(sent), path));
          const longest = matching.sort((a, b) => b.length - a.length)[0];
          if (found !== "ambiguous") expect(idOf(found)).toBe(longest ?? "unknown");
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("never reaches a site by a path that means another place to an application", () => {
    const readings: ((path: string) => string)[] = [
      (path) => new URL(path.replace(/^\/+/, "/"), "http://h.test").pathname,
      (path) => posix.normalize(path),
      (path) => posix.normalize(decode(path)),
      (path) => posix.normalize(decode(path).replaceAll("\\", "/")),
      (path) => posix.normalize(decode(path).replace(/;[^/]*/g, "")),
    ];
    fc.assert(
      fc.property(prefixes, target, (paths, sent) => {
        const found = findRoute(tableOf(paths), "h.test", sent);
        if (typeof found === "string") return;
        for (const read of readings) {
          expect([isBelow(decode(read(rawPath(sent))), decode(found.path)), sent]).toEqual([true, sent]);
        }
      }),
      { numRuns: 5000 },
    );
  });

  it("refuses nothing on a host with one site", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          target,
          fc.string().map((text) => `/${text}`),
        ),
        (sent) => {
          expect(idOf(findRoute(tableOf(["/"]), "h.test", sent))).toBe("/");
        },
      ),
    );
  });

  it("refuses no path that is written plainly", () => {
    const plain = fc.array(fc.stringMatching(/^[a-zA-Z0-9_~!$&'()*+,=:@-]{1,8}$/), { maxLength: 6 });
    fc.assert(
      fc.property(prefixes, plain, (paths, parts) => {
        expect(findRoute(tableOf(paths), "h.test", `/${parts.join("/")}`)).not.toBe("ambiguous");
      }),
    );
  });
});

const decode = (path: string) =>
  path.replace(/%([0-9a-f]{2})/gi, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

describe("hostName", () => {
  it.each([
    ["a.test", "a.test"],
    ["A.Test", "a.test"],
    ["a.test:8080", "a.test"],
    ["a.test.", "a.test"],
    ["a.test.:8080", "a.test"],
    ["a.test..", "a.test."],
    ["127.0.0.1:80", "127.0.0.1"],
    ["[::1]", "[::1]"],
    ["[::1]:80", "[::1]"],
    ["", ""],
    [":80", ""],
    ["user@a.test", "user@a.test"],
  ])("reads %j as %j", (header, expected) => {
    expect(hostName(header)).toBe(expected);
  });

  it("gives the same host for every way to write it", () => {
    const host = fc.stringMatching(/^[a-z0-9-]{1,10}(\.[a-z0-9-]{1,10}){0,3}$/);
    fc.assert(
      fc.property(host, fc.boolean(), fc.option(fc.nat(65535)), (name, hasDot, port) => {
        const header = `${name.toUpperCase()}${hasDot ? "." : ""}${port === null ? "" : `:${port}`}`;
        expect(hostName(header)).toBe(name);
        expect(hostPort(header)).toBe(port === null ? "" : `:${port}`);
      }),
    );
  });

  it("reads anything without failing", () => {
    fc.assert(fc.property(fc.string(), (header) => void hostName(header)));
  });
});

describe("a table that changes", () => {
  const route = fc.record({
    host: fc.constantFrom("a.test", "b.test", "c.test"),
    path: fc.constantFrom("/", "/api", "/x"),
  });
  const changes = fc.array(
    fc.record({ id: fc.constantFrom("1", "2", "3", "4"), routes: fc.option(fc.array(route, { maxLength: 4 })) }),
    { maxLength: 20 },
  );
  const routed = (table: RouteTable) =>
    ["a.test", "b.test", "c.test"].map((host) =>
      table.routesOf(host)?.map(({ entry, path }) => [path, entry.site.id, entry.site.routes]),
    );

  it("has the routes of one that is made anew from its sites", () => {
    fc.assert(
      fc.property(changes, (made) => {
        const table = new RouteTable();
        const sites = new Map<string, Site>();
        for (const { id, routes } of made) {
          const before = routes === null ? table.delete(id) : table.put(site(id, ...routes));
          expect(before).toEqual(sites.get(id));
          if (routes === null) sites.delete(id);
          else sites.set(id, site(id, ...routes));
          expect(table.sites()).toEqual([...sites.values()]);
          expect(routed(table)).toEqual(routed(new RouteTable(sites.values())));
        }
      }),
    );
  });
});
