import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Health } from "../status.ts";
import { type Observed, type Operation, plan, type Wanted, type WantedRelease, type WantedResource } from "./plan.ts";
import type { ContainerState, ReleaseState } from "./release.ts";
import { siteOf, upstreamsOf } from "./site.ts";

const UPSTREAM = { host: "127.0.0.1", port: 4000 };

const release = (deploymentUuid: string, change: Partial<WantedRelease> = {}): WantedRelease => ({
  deploymentId: Number(deploymentUuid.replace(/\D/g, "") || 0),
  deploymentUuid,
  pullRequestId: 0,
  role: "live",
  builtBy: deploymentUuid,
  upstream: UPSTREAM,
  isSuccessorActive: false,
  ...change,
});

const resource = (change: Partial<WantedResource> = {}): WantedResource => ({
  id: 1,
  uuid: "app1",
  status: "running:healthy",
  desiredState: "running",
  isRemoving: false,
  restartCount: 0,
  releases: [release("d1")],
  site: undefined,
  ...change,
});

const seen = (deploymentUuid: string, change: Partial<ReleaseState> = {}): ReleaseState => ({
  resourceUuid: "app1",
  deploymentUuid,
  state: "running",
  upstream: change.state === "exited" ? null : UPSTREAM,
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  ...change,
});

const site = (uuid: string): WantedResource["site"] => ({
  application: {
    uuid,
    name: uuid,
    settings: { redirect: "both", is_http_basic_auth_enabled: false, http_basic_auth_username: null },
  },
  secrets: { http_basic_auth_password: null },
  domains: [{ host: `${uuid}.example.com`, path: "/", url: `https://${uuid}.example.com` }],
});

const wanted = (resources: readonly WantedResource[], active: readonly string[] = []): Wanted => ({
  resources,
  activeDeployments: new Set(active),
});

const observed = (releases: readonly ReleaseState[], change: Partial<Observed> = {}): Observed => ({
  releases,
  health: new Map<string, Health>(releases.map(({ deploymentUuid }) => [deploymentUuid, "healthy"])),
  sites: new Map(),
  resting: new Set(),
  ...change,
});

const types = (operations: readonly Operation[]) => operations.map(({ type }) => type);
const ref = (deploymentUuid: string) => ({ resourceUuid: "app1", deploymentUuid });

describe("a server that is as recorded", () => {
  test("needs nothing", () => {
    expect(plan(wanted([resource()]), observed([seen("d1")]))).toEqual([]);
  });
});

describe("a live release", () => {
  test.each<[string, WantedResource, readonly ReleaseState[], readonly Operation[]]>([
    [
      "is started when it exited",
      resource({ status: "exited:unhealthy" }),
      [seen("d1", { state: "exited" })],
      [{ type: "start", resourceId: 1, release: ref("d1"), deploymentId: 1 }],
    ],
    [
      "is started when the engine has lost it",
      resource({ status: "exited:unhealthy" }),
      [],
      [{ type: "start", resourceId: 1, release: ref("d1"), deploymentId: 1 }],
    ],
    [
      "is stopped when it shall be",
      resource({ desiredState: "stopped" }),
      [seen("d1")],
      [{ type: "stop", resourceId: 1, release: ref("d1") }],
    ],
    [
      "that is stopped and shall be stays so",
      resource({ desiredState: "stopped", status: "exited:unhealthy" }),
      [seen("d1", { state: "exited", restartCount: 0 })],
      [],
    ],
    [
      "has its address recorded when it changed",
      resource(),
      [seen("d1", { upstream: { host: "127.0.0.1", port: 5000 } })],
      [{ type: "set_upstream", deploymentId: 1, upstream: { host: "127.0.0.1", port: 5000 } }],
    ],
    [
      "that restarts is left to its engine",
      resource({ status: "restarting:unknown" }),
      [seen("d1", { state: "restarting" })],
      [],
    ],
  ])("%s", (_title, subject, releases, operations) => {
    expect(plan(wanted([subject]), observed(releases))).toEqual(operations);
  });

  test("that failed to start waits for its next try", () => {
    const subject = resource({ status: "exited:unhealthy" });
    expect(plan(wanted([subject]), observed([], { resting: new Set(["d1"]) }))).toEqual([]);
  });

  test("of a preview neither routes nor decides the status", () => {
    const subject = resource({ releases: [release("d1", { pullRequestId: 7 })], status: "exited:unhealthy" });
    expect(plan(wanted([subject]), observed([seen("d1")]))).toEqual([]);
  });
});

describe("a candidate", () => {
  const candidate = resource({ releases: [release("d2", { role: "candidate" })], status: "starting:unknown" });

  test("is left to the deployment that makes it", () => {
    expect(plan(wanted([candidate], ["d2"]), observed([seen("d2")]))).toEqual([]);
  });

  test("is discarded when its deployment has ended", () => {
    expect(types(plan(wanted([candidate]), observed([seen("d2")])))).toEqual(["set_status", "discard"]);
  });

  test("that is not recorded yet is left alone while its deployment is active", () => {
    expect(plan(wanted([resource()], ["d2"]), observed([seen("d1"), seen("d2")]))).toEqual([]);
  });
});

describe("what no record names", () => {
  test("is removed", () => {
    expect(plan(wanted([resource()]), observed([seen("d1"), seen("d0")]))).toEqual([
      { type: "remove", release: ref("d0") },
    ]);
  });

  test("is only stopped while another release runs what it built", () => {
    const restarted = resource({ releases: [release("d2", { builtBy: "d1" })] });
    expect(plan(wanted([restarted]), observed([seen("d1"), seen("d2")]))).toEqual([
      { type: "stop", resourceId: null, release: ref("d1") },
    ]);
    expect(plan(wanted([restarted]), observed([seen("d1", { state: "exited" }), seen("d2")]))).toEqual([]);
  });

  test("is left to the removal of its resource", () => {
    const removing = resource({ isRemoving: true, status: "removing:unhealthy", releases: [] });
    expect(types(plan(wanted([removing]), observed([seen("d1")])))).toEqual(["remove_resource"]);
  });
});

describe("a replaced release", () => {
  test.each([
    ["and what was built for it", "d2", false],
    ["but not what was built for it when the new one runs that", "d1", true],
  ])("is retired %s", (_title, builtBy, keepsArtifact) => {
    const subject = resource({ releases: [release("d1", { role: "retiring" }), release("d2", { builtBy })] });
    expect(plan(wanted([subject]), observed([seen("d1"), seen("d2")]))).toEqual([
      { type: "retire", resourceId: 1, release: ref("d1"), deploymentId: 1, keepsArtifact },
    ]);
  });
});

describe("a replaced release whose successor's deployment has not ended", () => {
  test("waits", () => {
    const retiring = release("d1", { role: "retiring", isSuccessorActive: true });
    const subject = resource({ releases: [retiring, release("d2")] });
    expect(plan(wanted([subject], ["d2"]), observed([seen("d1"), seen("d2")]))).toEqual([]);
  });
});

describe("the route", () => {
  const routed = resource({ site: site("app1") });
  const up = { ...siteFor(routed), upstreams: [UPSTREAM] };

  test("is told when the proxy does not have it", () => {
    expect(plan(wanted([routed]), observed([seen("d1")]))).toEqual([{ type: "route", resourceId: 1 }]);
  });

  test("is not told again", () => {
    expect(plan(wanted([routed]), observed([seen("d1")], { sites: new Map([["app1", up]]) }))).toEqual([]);
  });

  test("is closed before the release is stopped", () => {
    const stopped = { ...routed, desiredState: "stopped" as const };
    const operations = plan(wanted([stopped]), observed([seen("d1")], { sites: new Map([["app1", up]]) }));
    expect(types(operations)).toEqual(["route", "stop"]);
  });

  test("is taken away with its last URL and with its resource", () => {
    const sites = new Map([["app1", up]]);
    expect(plan(wanted([resource()]), observed([seen("d1")], { sites }))).toEqual([
      { type: "unroute", siteId: "app1" },
    ]);
    expect(plan(wanted([]), observed([], { sites }))).toEqual([{ type: "unroute", siteId: "app1" }]);
  });
});

describe("the status", () => {
  test.each<[string, WantedResource, ReleaseState | undefined, Health, string]>([
    ["of what runs and was not probed", resource(), seen("d1"), "unknown", "running:unknown"],
    ["of what fails its probes", resource(), seen("d1"), "unhealthy", "running:unhealthy"],
    ["of what restarts", resource(), seen("d1", { state: "restarting" }), "healthy", "restarting:unknown"],
    ["of what starts", resource(), seen("d1", { state: "starting" }), "unknown", "starting:unknown"],
    ["of a crash loop", resource(), seen("d1", { state: "exited", restartCount: 4 }), "unknown", "degraded:unhealthy"],
    [
      "of what was stopped after a crash",
      resource({ desiredState: "stopped" }),
      seen("d1", { state: "exited", restartCount: 4 }),
      "unknown",
      "exited:unhealthy",
    ],
    ["of what is gone", resource(), undefined, "healthy", "exited:unhealthy"],
    ["of what is being removed", resource({ isRemoving: true }), seen("d1"), "healthy", "removing:unhealthy"],
  ])("%s", (_title, subject, state, health, status) => {
    const releases = state ? [state] : [];
    const operations = plan(wanted([subject]), observed(releases, { health: new Map([["d1", health]]) }));
    expect(operations).toContainEqual({ type: "set_status", resourceId: 1, status });
  });

  test("tells of restarts", () => {
    const operations = plan(wanted([resource()]), observed([seen("d1", { restartCount: 2 })]));
    expect(operations).toEqual([{ type: "set_restarts", resourceId: 1, restartCount: 2 }]);
  });
});

describe("for every record and every observation", () => {
  test("never touches what an active deployment is making, nor removes what a record names or runs", () => {
    fc.assert(
      fc.property(worlds, ({ wanted, observed }) => {
        const records = wanted.resources.flatMap(({ releases }) => releases);
        const kept = new Set(records.flatMap(({ deploymentUuid, builtBy }) => [deploymentUuid, builtBy]));
        const candidates = new Set(
          records.filter(({ role }) => role !== "live").map(({ deploymentUuid }) => deploymentUuid),
        );
        for (const operation of plan(wanted, observed)) {
          if (operation.type === "remove") {
            expect(kept).not.toContain(operation.release.deploymentUuid);
            expect(wanted.activeDeployments).not.toContain(operation.release.deploymentUuid);
          }
          if (operation.type === "discard") {
            expect(wanted.activeDeployments).not.toContain(operation.release.deploymentUuid);
            expect(candidates).toContain(operation.release.deploymentUuid);
          }
        }
      }),
    );
  });

  test("does not depend on the order of what was observed", () => {
    fc.assert(
      fc.property(worlds, ({ wanted, observed }) => {
        const reversed = { ...observed, releases: [...observed.releases].reverse() };
        const sorted = (operations: readonly Operation[]) =>
          operations.map((operation) => JSON.stringify(operation)).sort();
        expect(sorted(plan(wanted, reversed))).toEqual(sorted(plan(wanted, observed)));
      }),
    );
  });

  test("comes to rest: carried out a few times, nothing is left to do", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        let current = world;
        for (let round = 0; round < 4; round++) {
          const operations = plan(current.wanted, current.observed);
          if (operations.length === 0) return;
          current = carryOut(current, operations);
        }
        expect(plan(current.wanted, current.observed)).toEqual([]);
      }),
    );
  });
});

interface World {
  readonly wanted: Wanted;
  readonly observed: Observed;
}

const STATES: readonly ContainerState[] = ["created", "starting", "running", "restarting", "exited", "paused", "dead"];
const uuids = ["d1", "d2", "d3", "d4", "d5", "d6"];

/** Two resources that share six deployments, each with at most one live release, seen in any state or not at all. */
const worlds: fc.Arbitrary<World> = fc
  .record({
    roles: fc.array(fc.constantFrom("none", "live", "candidate", "retiring", "active"), { minLength: 6, maxLength: 6 }),
    states: fc.array(fc.option(fc.constantFrom(...STATES)), { minLength: 6, maxLength: 6 }),
    builtBy: fc.array(fc.constantFrom(0, 1, 2, 3), { minLength: 6, maxLength: 6 }),
    stopped: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    removing: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    restarts: fc.nat({ max: 3 }),
  })
  .map(({ roles, states, builtBy, stopped, removing, restarts }) => {
    const resources = [0, 1].map((index): WantedResource => {
      const own = uuids.flatMap((uuid, at) => (at % 2 === index ? [{ uuid, at, role: roles[at] }] : []));
      const lives = own.filter(({ role }) => role === "live");
      return resource({
        id: index + 1,
        uuid: `app${index + 1}`,
        desiredState: stopped[index] ? "stopped" : "running",
        isRemoving: removing[index] === true,
        site: site(`app${index + 1}`),
        releases: own.flatMap(({ uuid, at, role }) => {
          if (role === "none" || (role === "live" && lives[0]?.uuid !== uuid)) return [];
          const builder = own[builtBy[at] ?? 0]?.uuid ?? uuid;
          return [release(uuid, { role: role === "active" ? "candidate" : role, builtBy: builder } as WantedRelease)];
        }),
      });
    });
    const active = uuids.filter((_uuid, at) => roles[at] === "active");
    const releases = uuids.flatMap((uuid, at) => {
      const state = states[at];
      if (!state) return [];
      return [seen(uuid, { resourceUuid: `app${(at % 2) + 1}`, state, restartCount: restarts })];
    });
    return { wanted: wanted(resources, active), observed: observed(releases) };
  });

function siteFor(subject: WantedResource) {
  if (!subject.site) throw new Error("The resource has no site.");
  return siteOf(subject.site, []);
}

/** What an engine, a proxy and a database would have become. */
function carryOut({ wanted, observed }: World, operations: readonly Operation[]): World {
  let resources = [...wanted.resources];
  let releases = [...observed.releases];
  const sites = new Map(observed.sites);
  const change = (id: number, edit: (current: WantedResource) => WantedResource) => {
    resources = resources.map((current) => (current.id === id ? edit(current) : current));
  };
  const drop = (deploymentUuid: string) => {
    releases = releases.filter((state) => state.deploymentUuid !== deploymentUuid);
  };
  const forget = (deploymentId: number) => {
    resources = resources.map((current) => ({
      ...current,
      releases: current.releases.filter((each) => each.deploymentId !== deploymentId),
    }));
  };
  const become = (deploymentUuid: string, resourceUuid: string, state: ContainerState) => {
    const restartCount = releases.find((each) => each.deploymentUuid === deploymentUuid)?.restartCount ?? 0;
    drop(deploymentUuid);
    releases.push(seen(deploymentUuid, { resourceUuid, state, restartCount }));
  };

  for (const operation of operations) {
    switch (operation.type) {
      case "start":
        become(operation.release.deploymentUuid, operation.release.resourceUuid, "running");
        break;
      case "stop":
        become(operation.release.deploymentUuid, operation.release.resourceUuid, "exited");
        break;
      case "remove":
        drop(operation.release.deploymentUuid);
        break;
      case "discard":
        drop(operation.release.deploymentUuid);
        forget(operation.deploymentId);
        break;
      case "retire":
        if (operation.keepsArtifact) become(operation.release.deploymentUuid, operation.release.resourceUuid, "exited");
        else drop(operation.release.deploymentUuid);
        forget(operation.deploymentId);
        break;
      case "route": {
        const subject = resources.find(({ id }) => id === operation.resourceId);
        if (!subject?.site) break;
        const live = subject.releases.find(({ role }) => role === "live");
        const state = releases.find(({ deploymentUuid }) => deploymentUuid === live?.deploymentUuid);
        sites.set(subject.uuid, siteOf(subject.site, upstreamsOf(subject.desiredState, live, state)));
        break;
      }
      case "unroute":
        sites.delete(operation.siteId);
        break;
      case "set_upstream":
        resources = resources.map((current) => ({
          ...current,
          releases: current.releases.map((each) =>
            each.deploymentId === operation.deploymentId ? { ...each, upstream: operation.upstream } : each,
          ),
        }));
        break;
      case "set_status":
        change(operation.resourceId, (current) => ({ ...current, status: operation.status }));
        break;
      case "set_restarts":
        change(operation.resourceId, (current) => ({ ...current, restartCount: operation.restartCount }));
        break;
      case "remove_resource": {
        const gone = resources.find(({ id }) => id === operation.resourceId);
        resources = resources.filter(({ id }) => id !== operation.resourceId);
        releases = releases.filter(({ resourceUuid }) => resourceUuid !== gone?.uuid);
        if (gone) sites.delete(gone.uuid);
        break;
      }
    }
  }
  const health = new Map<string, Health>(releases.map(({ deploymentUuid }) => [deploymentUuid, "healthy"]));
  return { wanted: { ...wanted, resources }, observed: { ...observed, releases, sites, health } };
}
