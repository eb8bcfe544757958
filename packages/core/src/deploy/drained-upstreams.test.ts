import { describe, expect, test } from "vitest";
import type { Site } from "../ports/proxy.ts";
import { drainedUpstreams } from "./drained-upstreams.ts";
import type { ReleaseContainer } from "./release.ts";

const container = (name: string, address: string | null, port: number | null): ReleaseContainer => ({
  ...{ name, address, port, state: "running", restartCount: 0 },
  ...{ exitCode: null, startedAt: null, isExcluded: false },
});
const site = (id: string, host: string, port: number, ...upstreamPorts: readonly number[]): Site => ({
  ...{ id, name: id, upstreams: [{ host, port }] },
  routes: [
    { host: "a.example", path: "/" },
    ...upstreamPorts.map((at) => ({ host: `${at}.example`, path: "/", upstreamPort: at })),
  ],
});
const texts = (subject: Partial<Parameters<typeof drainedUpstreams>[0]>) =>
  drainedUpstreams({ upstream: null, state: undefined, sites: [], hasUpstreamPorts: true, ...subject }).map(
    ({ host, port }) => `${host}:${port}`,
  );

describe("what is drained before a replaced release ends", () => {
  test("is its own port and each that a URL of it names", () => {
    const sites = [site("app", "10.0.0.2", 80, 3000, 4000)];
    expect(texts({ upstream: { host: "10.0.0.1", port: 80 }, sites })).toEqual([
      "10.0.0.1:80",
      "10.0.0.1:3000",
      "10.0.0.1:4000",
    ]);
  });

  test("is no port of a URL where the proxy sends all to one", () => {
    const sites = [site("app", "127.0.0.1", 4002, 3000)];
    const upstream = { host: "127.0.0.1", port: 4001 };
    expect(texts({ upstream, sites, hasUpstreamPorts: false })).toEqual(["127.0.0.1:4001"]);
  });

  test("is each container at the ports of its own URLs, and at no other's", () => {
    const sites = [site("shop.web", "10.0.0.5", 80, 8080), site("shop.admin.ui", "10.0.0.6", 9000)];
    const containers = [
      container("web", "10.0.0.1", 80),
      container("web", "10.0.0.2", 80),
      container("admin.ui", "10.0.0.3", null),
      container("jobs", null, null),
    ];
    expect(texts({ upstream: { host: "10.0.0.1", port: 80 }, state: { containers }, sites })).toEqual([
      ...["10.0.0.1:80", "10.0.0.1:8080", "10.0.0.2:80", "10.0.0.2:8080"],
      "10.0.0.3:9000",
    ]);
  });

  test("is none of what continues in the next release", () => {
    const sites = [site("shop.web", "10.0.0.5", 80), site("shop.api", "10.0.0.2", 3000, 3001)];
    const containers = [container("web", "10.0.0.1", 80), container("api", "10.0.0.2", 3000)];
    expect(texts({ state: { containers }, sites })).toEqual(["10.0.0.1:80"]);
  });
});
