import { describe, expect, test } from "vitest";
import { sitesOf } from "./parts.ts";
import { observed, release, resource, seen, site, wanted } from "./plan.fixture.ts";
import { plan } from "./plan.ts";
import type { ReleaseContainer } from "./release.ts";
import type { WantedContainer, WantedResource } from "./wanted.ts";

const recorded = (name: string, change: Partial<WantedContainer> = {}): WantedContainer => ({
  name,
  status: "exited",
  isExcluded: false,
  ...change,
});
const container = (name: string, change: Partial<ReleaseContainer> = {}): ReleaseContainer => ({
  name,
  state: "running",
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  address: "10.0.0.2",
  port: null,
  isExcluded: false,
  ...change,
});
const service = (change: Partial<WantedResource> = {}): WantedResource =>
  resource({ status: "exited", containers: [recorded("web"), recorded("db")], ...change });

const statusesOf = (
  subject: WantedResource,
  containers: readonly ReleaseContainer[],
  active: readonly string[] = [],
  health: readonly (readonly [string, "healthy"])[] = [],
) =>
  plan(wanted([subject], active), observed([seen("d1", { containers })], { health: new Map(health) })).find(
    ({ type }) => type === "set_statuses",
  );

describe("the status of a service", () => {
  test("[S30] is that of each container, and of all that count together", () => {
    const both = [container("web", { health: "healthy" }), container("db", { health: "starting" })];
    expect(statusesOf(service(), both)).toEqual({
      type: "set_statuses",
      resourceId: 1,
      status: "running:unknown",
      replaces: "exited",
      problem: null,
      containers: { web: "running:healthy", db: "running:unknown" },
    });
    expect(statusesOf(service(), [container("web")])).toMatchObject({
      status: "degraded:unhealthy",
      containers: { web: "running:unknown", db: "exited" },
    });
  });

  test("says why it cannot run, unless it is stopped", () => {
    const problem = "Its data is on node n2, which is down.";
    const state = seen("d1", { state: "created", problem, containers: [container("db", { state: "created" })] });
    const said = (change: Partial<WantedResource>) =>
      plan(wanted([service(change)]), observed([state])).find(({ type }) => type === "set_statuses");
    expect(said({})).toMatchObject({ status: "degraded:unhealthy", problem });
    expect(said({ desiredState: "stopped", statusProblem: problem })).toMatchObject({ problem: null });
  });

  test("is what its deployment found, until the engine has run a check of its own", () => {
    const both = [container("web", { health: "unhealthy" }), container("db", { health: "starting" })];
    expect(statusesOf(service(), both, [], [["d1", "healthy"]])).toMatchObject({
      containers: { web: "running:unhealthy", db: "running:healthy" },
    });
  });

  test("does not count a container that has done its work once", () => {
    const containers = [recorded("web"), recorded("migrate", { isExcluded: true })];
    const done = container("migrate", { state: "exited", exitCode: 0 });
    expect(statusesOf(service({ containers }), [container("web", { health: "healthy" }), done])).toMatchObject({
      status: "running:healthy",
      containers: { web: "running:healthy", migrate: "exited" },
    });
  });

  test("of one whose containers have all done their work is left as it is, and not started again", () => {
    const containers = [recorded("job", { isExcluded: true })];
    const jobs = (exitCode: number) => [container("job", { state: "exited", exitCode, isExcluded: true })];
    const types = (exitCode: number) =>
      plan(
        wanted([service({ containers })]),
        observed([seen("d1", { state: "exited", containers: jobs(exitCode) })]),
      ).map(({ type }) => type);
    expect(types(0)).toEqual([]);
    expect(types(1)).toEqual(["start"]);
  });

  test("is told only when something of it changed", () => {
    const now = [recorded("web", { status: "running:healthy" }), recorded("db", { status: "running:healthy" })];
    const same = service({ status: "running:healthy", containers: now });
    const both = [container("web", { health: "healthy" }), container("db", { health: "healthy" })];
    expect(plan(wanted([same]), observed([seen("d1", { containers: both, restartCount: 3 })]))).toEqual([]);
    const worse = [container("web", { health: "healthy" }), container("db", { health: "unhealthy" })];
    expect(statusesOf(same, worse)).toMatchObject({ status: "running:unhealthy" });
  });

  test("is starting while its first deployment makes it, and exited while it has none", () => {
    const starting = service({ releases: [release("d2", { role: "candidate" })] });
    expect(plan(wanted([starting], ["d2"]), observed([]))).toMatchObject([{ status: "starting:unhealthy" }]);
    expect(plan(wanted([service({ releases: [] })]), observed([]))).toEqual([]);
  });

  test("stopped on purpose is no crash loop, and going is removing", () => {
    const down = [container("web", { state: "exited", restartCount: 4 }), container("db", { state: "exited" })];
    expect(statusesOf(service({ status: "x", desiredState: "stopped" }), down)).toMatchObject({ status: "exited" });
    expect(statusesOf(service(), down)).toMatchObject({ status: "degraded:unhealthy" });
    expect(statusesOf(service({ isRemoving: true }), down)).toMatchObject({ status: "removing:unhealthy" });
  });
});

describe("the routes of a service", () => {
  const toWeb = { ...site("app1"), container: { name: "web", port: 3000 } };
  const toApi = { ...site("app1"), container: { name: "api", port: null } };
  const routed = resource({ sites: [toWeb, toApi] });
  const sites = (containers: readonly ReleaseContainer[], subject = routed) =>
    sitesOf(wanted([subject]), [seen("d1", { containers })]);

  test("lead to the container's own address and port", () => {
    const both = [container("web"), container("api", { address: "10.0.0.3", port: 8080 })];
    expect(sites(both).map(({ id, upstreams }) => [id, upstreams])).toEqual([
      ["app1.web", [{ host: "10.0.0.2", port: 3000 }]],
      ["app1.api", [{ host: "10.0.0.3", port: 8080 }]],
    ]);
  });

  test("lead nowhere when the container is gone, down or not wanted", () => {
    const down = [container("web", { state: "exited" }), container("api", { address: null })];
    expect(sites(down).map(({ upstreams }) => upstreams)).toEqual([[], []]);
    expect(sites([]).map(({ upstreams }) => upstreams)).toEqual([[], []]);
    const stopped = { ...routed, desiredState: "stopped" as const };
    expect(sites([container("web")], stopped).map(({ upstreams }) => upstreams)).toEqual([[], []]);
  });

  test("are told again only when one changed, and one that lost its URLs goes", () => {
    const states = [seen("d1", { containers: [container("web"), container("api")] })];
    const told = new Map(sitesOf(wanted([routed]), states).map((one) => [one.id, one]));
    expect(plan(wanted([routed]), observed(states, { sites: told }))).toEqual([]);
    const fewer = { ...routed, sites: [toWeb] };
    expect(plan(wanted([fewer]), observed(states, { sites: told }))).toEqual([{ type: "unroute", siteId: "app1.api" }]);
    const moved = [seen("d1", { containers: [container("web"), container("api", { state: "exited" })] })];
    expect(plan(wanted([routed]), observed(moved, { sites: told }))).toEqual([
      { type: "route", resourceId: 1, kind: "application", pullRequestId: 0 },
    ]);
  });
});

test("a container that somebody stopped is started again, but not while a deployment makes room for itself", () => {
  const containers = [container("web"), container("db", { state: "exited", isStopped: true })];
  const operations = (change: Partial<WantedResource>) =>
    plan(wanted([service(change)], []), observed([seen("d1", { containers })])).map(({ type }) => type);
  expect(operations({ isDeploying: false })).toContain("start");
  expect(operations({ isDeploying: true })).not.toContain("start");
});
