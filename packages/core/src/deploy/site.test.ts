import { describe, expect, test } from "vitest";
import { replicasOf } from "./plan.fixture.ts";
import type { ReleaseState } from "./release.ts";
import {
  PLAIN_SITE,
  restingSites,
  type SiteSubject,
  type SiteTarget,
  silentUrls,
  siteIdOf,
  siteOf,
  sitePartOf,
  siteSubjects,
  upstreamsOf,
} from "./site.ts";

const claim = (host: string, path = "/") => ({ host, path, url: `https://${host}${path}` });
const subject = (
  settings: Partial<SiteSubject["settings"]>,
  domains: SiteSubject["domains"],
  password: string | null = null,
): SiteSubject => ({
  owner: { uuid: "app1", name: "shop" },
  settings: { ...PLAIN_SITE.settings, is_gzip_enabled: false, ...settings },
  secrets: { http_basic_auth_password: password },
  domains,
});
const upstream = { host: "127.0.0.1", port: 41234 };

describe("the site of an application", () => {
  test.each([
    [["https://a.com"], [true, undefined]],
    [
      ["HTTPS://B.com/x/", "https://other.com"],
      [undefined, true],
    ],
    [["b.com"], [undefined, true]],
    [null, [undefined, undefined]],
  ])("with %j not to be listed marks the routes that they name", (noindex_domains, marks) => {
    const { routes } = siteOf(subject({ noindex_domains }, [claim("a.com"), claim("b.com", "/x")]), [upstream]);
    expect(routes.map(({ isUnlisted }) => isUnlisted)).toEqual(marks);
  });

  const byRequests = { autoscaling_enabled: true, autoscaling_requests_per_second: 100 };
  test.each<[string, Partial<SiteSubject["settings"]>, Partial<SiteSubject>, true | undefined]>([
    ["scaled by requests", byRequests, {}, true],
    ["scaled by other targets", { ...byRequests, autoscaling_requests_per_second: null }, {}, undefined],
    ["not scaled", { ...byRequests, autoscaling_enabled: false }, {}, undefined],
    ["of a preview", byRequests, { pullRequestId: 7 }, undefined],
    ["of one container of a compose file", byRequests, { container: { name: "web", port: null } }, undefined],
  ])("that is %s has its requests counted only where they decide", (_title, settings, change, expected) => {
    const all = { ...subject(settings, [claim("a.com")]), ...change };
    // Stopping and starting it changes no configuration of the proxy.
    for (const upstreams of [[upstream], []]) expect(siteOf(all, upstreams).isCounted).toBe(expected);
  });

  test("has a route for each of its URLs", () => {
    const site = siteOf(subject({}, [claim("a.com"), claim("b.com", "/x")]), [upstream]);
    expect(site).toEqual({
      id: "app1",
      name: "shop",
      routes: [
        { host: "a.com", path: "/", isHttps: true },
        { host: "b.com", path: "/x", isHttps: true },
      ],
      upstreams: [upstream],
      isHttpsForced: true,
      isCompressed: false,
      isPrefixStripped: true,
    });
  });

  test.each([
    ["http://a.com", { isHttps: false }],
    ["https://a.com", { isHttps: true }],
    ["https://a.com:3000/x", { isHttps: true, upstreamPort: 3000 }],
    ["https://a.com:443", { isHttps: true, upstreamPort: 443 }],
    ["http://[::1]/x:7", { isHttps: false }],
    ["http://[::1]:80", { isHttps: false, upstreamPort: 80 }],
  ])("is served for %s as %j", (url, expected) => {
    const [route] = siteOf(subject({}, [{ host: "a.com", path: "/", url }]), [upstream]).routes;
    expect(route).toEqual({ host: "a.com", path: "/", ...expected });
  });

  test.each([
    ["both", ["www.a.com", "a.com"], [undefined, undefined]],
    ["www", ["www.a.com", "a.com"], [undefined, "www.a.com"]],
    ["non-www", ["www.a.com", "a.com"], ["a.com", undefined]],
    ["www", ["a.com"], [undefined]],
    ["non-www", ["www.a.com"], [undefined]],
  ] as const)("redirects %s of %j only to a host of its own", (redirect, hosts, targets) => {
    const site = siteOf(
      subject(
        { redirect },
        hosts.map((host) => claim(host)),
      ),
      [],
    );
    expect(site.routes.map(({ redirectToHost }) => redirectToHost)).toEqual(targets);
  });

  test("of a preview is one of its own, with its own URL and the application's protection", () => {
    const protectedBy = { is_http_basic_auth_enabled: true, http_basic_auth_username: "me" };
    const preview = { ...subject(protectedBy, [claim("7.a.com")], "secret"), pullRequestId: 7 };
    expect(siteOf(preview, [upstream])).toEqual({
      id: "app1-pr-7",
      name: "shop, pull request 7",
      routes: [{ host: "7.a.com", path: "/", isHttps: true }],
      upstreams: [upstream],
      isHttpsForced: true,
      isCompressed: false,
      isPrefixStripped: true,
      basicAuth: { username: "me", password: "secret" },
    });
  });

  test("of a container is one of its own, with the URLs that lead to it and its port", () => {
    const toWeb = { container: "web", container_port: 3000 };
    const domains = [
      { ...claim("a.com"), ...toWeb },
      { ...claim("b.com"), container: "api" },
      { ...claim("c.com"), ...toWeb },
    ];
    const sites = siteSubjects(subject({}, domains)).map((one) => siteOf(one, []));
    expect(sites.map(({ id, name, routes }) => [id, name, routes.map(({ host }) => host)])).toEqual([
      ["app1.web", "shop, web", ["a.com", "c.com"]],
      ["app1.api", "shop, api", ["b.com"]],
    ]);
    expect(sites.map(({ id }) => sitePartOf(id))).toEqual(["app1", "app1"]);
    expect(sitePartOf("app1-pr-7.web")).toBe(siteIdOf("app1", 7));
    expect(siteSubjects(subject({}, domains)).map(({ container }) => container?.port)).toEqual([3000, null]);
  });

  test("has the headers that its labels name", () => {
    const labelled = subject({}, [claim("a.com")]);
    const secrets = { ...labelled.secrets, custom_labels: "caddy.header.X-Frame-Options=DENY" };
    expect(siteOf({ ...labelled, secrets }, [upstream]).responseHeaders).toEqual({ "X-Frame-Options": "DENY" });
  });

  test("is protected when asked for", () => {
    const protectedBy = { is_http_basic_auth_enabled: true, http_basic_auth_username: "me" };
    const site = siteOf(subject(protectedBy, [], "secret"), [upstream]);
    expect(site.basicAuth).toEqual({ username: "me", password: "secret" });
  });

  test("needs no secret while it is down", () => {
    const { secrets: _, ...protectedBy } = subject({ is_http_basic_auth_enabled: true }, [claim("a.com")]);
    const sealed: SiteSubject = {
      ...protectedBy,
      get secrets(): never {
        throw new Error("A secret was opened.");
      },
    };
    expect(siteOf(sealed, [])).toMatchObject({ id: "app1", upstreams: [] });
    expect(restingSites(sealed.owner, sealed.settings, sealed.domains)).toEqual([siteOf(sealed, [])]);
  });

  test("is down rather than open when it shall be protected and has no password", () => {
    const protectedBy = { is_http_basic_auth_enabled: true, http_basic_auth_username: "me" };
    expect(siteOf(subject(protectedBy, []), [upstream]).upstreams).toEqual([]);
  });
});

describe("where requests go", () => {
  const observed = (state: ReleaseState["state"], at: ReleaseState["upstream"] = upstream): ReleaseState => ({
    resourceUuid: "r",
    deploymentUuid: "d",
    state,
    upstream: at,
    restartCount: 0,
    exitCode: null,
    startedAt: null,
  });
  const old = { host: "127.0.0.1", port: 1 };

  const replicated = { ...observed("running"), containers: replicasOf(observed("running"), 3) };
  const [one, two, three] = [1, 2, 3].map((number) => ({ host: `10.0.0.${number}`, port: 3000 }));

  test.each<[string, SiteTarget["desiredState"], SiteTarget["live"], ReleaseState | undefined, readonly unknown[]]>([
    ["to where it listens now", "running", { upstream: old }, observed("running"), [upstream]],
    ["to its last address while it restarts", "running", { upstream: old }, observed("restarting", null), [old]],
    ["nowhere when it exited", "running", { upstream: old }, observed("exited", null), []],
    ["nowhere when it is gone", "running", { upstream: old }, undefined, []],
    ["nowhere when it shall be stopped", "stopped", { upstream: old }, observed("running"), []],
    ["nowhere before the first release", "running", undefined, undefined, []],
    ["nowhere when it exposes nothing", "running", { upstream: null }, observed("running", null), []],
    ["to all of its replicas", "running", { upstream: old }, replicated, [one, two, three]],
  ])("%s", (_title, desiredState, live, state, expected) => {
    expect(upstreamsOf({ desiredState, live, observed: state })).toEqual(expected);
  });

  test("not to replicas that are about to be removed", () => {
    const target = { desiredState: "running", live: { upstream: old }, observed: replicated } as const;
    expect(upstreamsOf({ ...target, replicas: 2 })).toEqual([one, two]);
    expect(upstreamsOf({ ...target, replicas: 5 })).toEqual([one, two, three]);
  });
});

describe("URLs that name a port where nothing listens", () => {
  const at = (...urls: string[]) => urls.map((url) => ({ url }));
  const upstream = { host: "10.0.0.2", port: 3000 };

  test("are told with the ports that are listened on", () => {
    const urls = at("http://a.test", "http://b.test:3000", "https://c.test:443/x", "http://d.test:9090");
    expect(silentUrls(urls, upstream, [9090, 3000])).toEqual([
      "https://c.test:443/x names port 443 of the container, where nothing listens. It listens on 3000, 9090: remove the port from the URL, or use one of these.",
    ]);
  });

  test("are not told when what listens is not known", () => {
    expect(silentUrls(at("http://a.test:8080"), upstream, [])).toEqual([]);
    expect(silentUrls(at("http://a.test:8080"), upstream, [40000])).toEqual([]);
  });
});
