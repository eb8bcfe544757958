import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Health } from "./container-state.ts";
import type { Operation } from "./operation.ts";
import { sitesOf } from "./parts.ts";
import {
  observed,
  preview,
  ref,
  release,
  replicasOf,
  resource,
  seen,
  site,
  siteFor,
  types,
  UPSTREAM,
  wanted,
} from "./plan.fixture.ts";
import { plan } from "./plan.ts";
import { applyOperations, worlds } from "./plan-world.fixture.ts";
import type { ReleaseState } from "./release.ts";
import { siteOf } from "./site.ts";
import type { WantedResource } from "./wanted.ts";

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

  test.each([
    [
      "is given its lasting name when it has another",
      { now: "renamed", wanted: "shop" },
      new Set<string>(),
      ["take_name"],
    ],
    ["keeps its lasting name", { now: "shop", wanted: "shop" }, new Set<string>(), []],
    ["waits when it could not be given the name lately", { now: "d1", wanted: "shop" }, new Set(["d1"]), []],
  ])("%s", (_title, containerName, unnamed, expected) => {
    const subject = resource({ status: "running:healthy" });
    expect(types(plan(wanted([subject]), observed([seen("d1", { containerName })], { unnamed })))).toEqual(expected);
  });

  test.each(["candidate", "retiring", "kept"] as const)(
    "alone is given the lasting name: one that is %s is not",
    (role) => {
      const subject = resource({ releases: [release("d1"), release("d2", { role, isSuccessorActive: true })] });
      const containerName = { now: "d2", wanted: "shop" };
      const operations = plan(wanted([subject], ["d2"]), observed([seen("d1"), seen("d2", { containerName })]));
      expect(types(operations)).not.toContain("take_name");
    },
  );

  test("that failed to start waits for its next try", () => {
    const subject = resource({ status: "exited:unhealthy" });
    expect(plan(wanted([subject]), observed([], { backingOff: new Set(["d1"]) }))).toEqual([]);
  });

  test.each([
    [3, 4, ["give_up"]],
    [3, 3, []],
    [0, 400, []],
    [undefined, 400, []],
  ])("that may restart %j times and restarted %j times in a row: %j", (restartCountMax, count, expected) => {
    const subject = resource({ restartCountMax });
    const restarts = new Map([["d1", count]]);
    expect(types(plan(wanted([subject]), observed([seen("d1")], { restarts })))).toEqual(expected);
    const stopped = resource({ restartCountMax, desiredState: "stopped" });
    expect(types(plan(wanted([stopped]), observed([seen("d1")], { restarts })))).not.toContain("give_up");
  });

  test("that exited and restarted too often is not started once more", () => {
    const subject = resource({ restartCountMax: 3, status: "degraded:unhealthy", restartCount: 4 });
    const crashed = seen("d1", { state: "exited", restartCount: 4 });
    const operations = plan(wanted([subject]), observed([crashed], { restarts: new Map([["d1", 4]]) }));
    expect(operations).toEqual([
      { type: "give_up", resourceId: 1, release: ref("d1"), restartCount: 4, restartCountMax: 3 },
    ]);
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
      {
        type: "retire",
        resourceId: 1,
        kind: "application",
        pullRequestId: 0,
        release: ref("d1"),
        deploymentId: 1,
        keepsArtifact,
      },
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
  const routed = resource({ sites: [site("app1")] });
  const up = { ...siteFor(routed), upstreams: [UPSTREAM] };

  test("is told when the proxy does not have it", () => {
    expect(plan(wanted([routed]), observed([seen("d1")]))).toEqual([
      { type: "route", resourceId: 1, kind: "application", pullRequestId: 0 },
    ]);
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

  test("is left to the removal of its resource while that is under way, also without a URL", () => {
    const sites = new Map(["app1", "app1.web"].map((id) => [id, up]));
    expect(types(plan(wanted([resource({ isRemoving: true })]), observed([seen("d1")], { sites })))).toEqual([
      "set_status",
      "remove_resource",
    ]);
  });
});

describe("a preview", () => {
  const of7 = release("d7", { pullRequestId: 7 });
  const routed = preview(7, { sites: [site("app1", 7)] });
  const subject = resource({ releases: [release("d1"), of7], previews: [routed] });
  const both = [seen("d1"), seen("d7")];
  const up = new Map([["app1-pr-7", { ...previewSite(), upstreams: [UPSTREAM] }]]);

  test("has a route, a live release and a status of its own", () => {
    expect(plan(wanted([subject]), observed(both))).toEqual([
      { type: "route", resourceId: 1, kind: "application", pullRequestId: 7 },
    ]);
    expect(plan(wanted([subject]), observed(both, { sites: up }))).toEqual([]);
    expect(sitesOf(wanted([subject]), both)).toEqual([{ ...previewSite(), upstreams: [UPSTREAM] }]);
    const down = observed([seen("d1")], { sites: up });
    expect(plan(wanted([subject]), down)).toEqual([
      { type: "route", resourceId: 1, kind: "application", pullRequestId: 7 },
      { type: "set_preview_status", previewId: 7, status: "exited:unhealthy" },
      { type: "start", resourceId: 1, release: ref("d7"), deploymentId: 7 },
    ]);
  });

  test("runs on while its application is stopped", () => {
    const stopped = { ...subject, desiredState: "stopped" as const };
    expect(plan(wanted([stopped]), observed(both, { sites: up }))).toEqual([
      { type: "stop", resourceId: 1, release: ref("d1") },
    ]);
  });

  test("that is closed is removed and nothing else is done with its releases", () => {
    const closed = { ...subject, previews: [{ ...routed, isRemoving: true }] };
    expect(plan(wanted([closed]), observed([seen("d1")], { sites: up }))).toEqual([
      { type: "set_preview_status", previewId: 7, status: "removing:unhealthy" },
      { type: "remove_preview", resourceId: 1, pullRequestId: 7 },
    ]);
    expect(sitesOf(wanted([closed]), both)).toEqual([]);
  });

  test("loses its route when it loses its URL, and with its application", () => {
    const sites = up;
    const unroute = { type: "unroute", siteId: "app1-pr-7" };
    const bare = { ...subject, previews: [preview(7)] };
    expect(plan(wanted([bare]), observed(both, { sites }))).toEqual([unroute]);
    expect(plan(wanted([]), observed([], { sites }))).toEqual([unroute]);
  });

  test("does not count for its application's status", () => {
    const only = { ...subject, releases: [of7] };
    expect(plan(wanted([only]), observed([seen("d7")], { sites: up }))).toEqual([
      { type: "set_status", resourceId: 1, status: "exited:unhealthy", replaces: "running:healthy", problem: null },
    ]);
  });

  function previewSite() {
    const made = site("app1", 7);
    if (made === undefined) throw new Error("It has a URL.");
    return siteOf(made, []);
  }
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
    expect(operations).toContainEqual({
      type: "set_status",
      resourceId: 1,
      status,
      replaces: subject.status,
      problem: null,
    });
  });

  const problem = "Its data is on node n2, which is down.";
  const waiting = seen("d1", { state: "created", problem });
  const lost = {
    type: "set_status",
    resourceId: 1,
    status: "degraded:unhealthy",
    replaces: "running:healthy",
    problem,
  };
  test.each<[string, Partial<WantedResource>, ReleaseState, readonly object[]]>([
    ["of what cannot run says why", {}, waiting, [lost]],
    ["of what cannot run is said once", { status: "degraded:unhealthy", statusProblem: problem }, waiting, []],
    [
      "of what cannot run for another reason says the new one",
      { status: "degraded:unhealthy", statusProblem: "Other." },
      waiting,
      [{ ...lost, replaces: "degraded:unhealthy" }],
    ],
    [
      "of what runs again says no reason any more",
      { statusProblem: problem },
      seen("d1"),
      [{ ...lost, status: "running:healthy", problem: null }],
    ],
  ])("%s", (_title, change, state, expected) => {
    const health = new Map([["d1", "healthy" as const]]);
    const operations = plan(wanted([resource(change)]), observed([state], { health }));
    expect(operations.filter(({ type }) => type === "set_status")).toEqual(expected);
  });

  test("of a preview has no reason", () => {
    const subject = resource({ releases: [release("d7", { pullRequestId: 7 })], previews: [preview(7)] });
    const operations = plan(wanted([subject]), observed([seen("d7", { state: "created", problem })]));
    expect(operations.filter(({ type }) => type === "set_preview_status")).toMatchObject([
      { status: "starting:unknown" },
    ]);
  });

  test.each<[string, Partial<WantedResource>, readonly ReleaseState[], string | null]>([
    ["of what could not be started says why", {}, [], "No image."],
    ["of what ended and could not be started says why", {}, [seen("d1", { state: "exited" })], "No image."],
    ["of what runs says nothing of an earlier start", {}, [seen("d1", { state: "restarting" })], null],
    ["of what a person stopped says nothing of a start", { desiredState: "stopped" }, [], null],
    [
      "of what Berth stopped says why",
      { desiredState: "stopped", stopReason: "It restarted too often." },
      [seen("d1", { state: "exited" })],
      "It restarted too often.",
    ],
  ])("%s", (_title, change, releases, expected) => {
    const startProblems = new Map([["d1", "No image."]]);
    const operations = plan(wanted([resource(change)]), observed(releases, { startProblems }));
    expect(operations.find(({ type }) => type === "set_status")).toMatchObject({ problem: expected });
  });

  test("of what is stopped says no reason", () => {
    const stopped = resource({ status: "exited:unhealthy", statusProblem: problem, desiredState: "stopped" });
    const operations = plan(wanted([stopped]), observed([waiting]));
    expect(operations[0]).toMatchObject({ type: "set_status", problem: null });
    // It would start with its node.
    expect(types(operations)).toContain("stop");
    expect(types(plan(wanted([stopped]), observed([seen("d1", { state: "created" })])))).not.toContain("stop");
  });

  test("reports restarts", () => {
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

  test("settles: carried out a few times, nothing is left to do", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        let current = world;
        for (let round = 0; round < 4; round++) {
          const operations = plan(current.wanted, current.observed);
          if (operations.length === 0) return;
          current = applyOperations(current, operations);
        }
        expect(plan(current.wanted, current.observed)).toEqual([]);
      }),
    );
  });
});

describe("the number of containers", () => {
  const running = (replicas: number) => {
    const state = seen("d1");
    return replicas === 1 ? state : seen("d1", { containers: replicasOf(state, replicas) });
  };
  const scale = (replicas: number) => ({ type: "scale", resourceId: 1, release: ref("d1"), deploymentId: 1, replicas });

  test.each<[string, Partial<WantedResource>, number, readonly object[]]>([
    ["grows", { replicas: 3 }, 1, [scale(3)]],
    ["shrinks", { replicas: 1 }, 3, [scale(1)]],
    ["stays", { replicas: 3 }, 3, []],
    ["stays where nobody asks for one", {}, 3, []],
    ["waits for a deployment, which starts as many", { replicas: 3, isDeploying: true }, 1, []],
  ])("%s", (_title, change, now, expected) => {
    expect(plan(wanted([resource(change)]), observed([running(now)]))).toEqual(expected);
  });

  const over = { type: "end_scale_problem", resourceId: 1 };
  test.each<[string, Partial<WantedResource>, number, readonly object[]]>([
    ["is over when it has as many as asked for", { replicas: 3 }, 3, [over]],
    ["is over when nobody asks for more", {}, 1, [over]],
    ["remains while it lacks some", { replicas: 3 }, 2, []],
  ])("a problem with it %s", (_title, change, now, expected) => {
    const subject = resource({ ...change, hasScaleProblem: true });
    expect(plan(wanted([subject]), observed([running(now)], { backingOff: new Set(["d1"]) }))).toEqual(expected);
  });

  test("a problem with it is over when it is stopped, and remains while its release is missing", () => {
    const problem = { replicas: 3, hasScaleProblem: true };
    const stopped = resource({ ...problem, desiredState: "stopped" });
    expect(types(plan(wanted([stopped]), observed([running(1)])))).toEqual(["end_scale_problem", "stop"]);
    expect(types(plan(wanted([resource(problem)]), observed([])))).not.toContain("end_scale_problem");
  });

  test("is left alone for a while after a failure, and while it is stopped", () => {
    const asked = wanted([resource({ replicas: 3 })]);
    expect(plan(asked, observed([running(1)], { backingOff: new Set(["d1"]) }))).toEqual([]);
    const stopped = wanted([resource({ replicas: 3, desiredState: "stopped" })]);
    expect(types(plan(stopped, observed([running(1)])))).toEqual(["stop"]);
  });
});

describe("a release that holds ports of the server", () => {
  const stoppedFor = (role: "candidate" | "retiring", change: Partial<WantedResource> = {}) =>
    resource({
      isAlone: true,
      status: "exited:unhealthy",
      releases: [release("d1"), release("d2", { role })],
      ...change,
    });
  const now = observed([seen("d1", { state: "exited" })]);
  const starts = (subject: WantedResource, active: readonly string[]) =>
    plan(wanted([subject], active), now).filter(({ type }) => type === "start");

  test("stays stopped for the candidate that took its place, and comes back when that has failed", () => {
    expect(starts(stoppedFor("candidate"), ["d2"])).toEqual([]);
    expect(starts(stoppedFor("candidate"), [])).toHaveLength(1);
    expect(starts(resource({ isAlone: true, status: "exited:unhealthy" }), [])).toHaveLength(1);
  });

  test("alone gives way: any other is healed beside its candidate, and so is a preview's", () => {
    expect(starts(stoppedFor("candidate", { isAlone: false }), ["d2"])).toHaveLength(1);
    const candidate = release("d2", { role: "candidate", pullRequestId: 7 });
    const subject = stoppedFor("candidate", { releases: [release("d1"), candidate], previews: [preview(7)] });
    expect(starts(subject, ["d2"])).toHaveLength(1);
  });
});

test("what an engine sees of a release's health goes before what probes said, once it has seen it", () => {
  const healthy = (health: ReleaseState["health"]) =>
    plan(wanted([resource()]), observed([seen("d1", health ? { health } : {})]));
  expect(healthy("healthy")).toEqual([]);
  expect(healthy("unhealthy")).toEqual([
    { type: "set_status", resourceId: 1, status: "running:unhealthy", replaces: "running:healthy", problem: null },
  ]);
  expect(healthy("starting")).toEqual([]);
});
