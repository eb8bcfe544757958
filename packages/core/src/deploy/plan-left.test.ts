import { describe, expect, test } from "vitest";
import { sitesOf } from "./parts.ts";
import { observed, preview, ref, release, resource, seen, site, wanted } from "./plan.fixture.ts";
import { plan } from "./plan.ts";
import type { ReleaseState } from "./release.ts";
import type { WantedRelease, WantedResource } from "./wanted.ts";

/** A resource on another server that left this release here. */
const left = (change: Partial<WantedRelease> = {}, of: Partial<WantedResource> = {}) =>
  resource({ hasLeft: true, releases: [release("d1", change)], ...of });

const planned = (one: WantedResource, states: readonly ReleaseState[], active: readonly string[] = []) =>
  plan(wanted([one], active), observed(states));

describe("a release on a server that its resource has left", () => {
  test("runs and answers as it is, until another one is live on the other server", () => {
    const one = left({}, { status: "exited", restartCount: 3, sites: [site("app1")] });
    expect(planned(one, [seen("d1")])).toEqual([
      { type: "route", resourceId: 1, kind: "application", pullRequestId: 0 },
    ]);
    expect(sitesOf(wanted([one]), [seen("d1")])).toMatchObject([{ id: "app1", upstreams: [{ port: 4000 }] }]);
  });

  test("is not started, scaled or given up again", () => {
    expect(planned(left(), [])).toEqual([]);
    expect(planned(left(), [seen("d1", { state: "exited" })])).toEqual([]);
    expect(planned(left({}, { replicas: 3 }), [seen("d1")])).toEqual([]);
    const restarts = new Map([["d1", 9]]);
    expect(plan(wanted([left({}, { restartCountMax: 3 })]), observed([seen("d1")], { restarts }))).toEqual([]);
  });

  test("is stopped with its resource", () => {
    const stop = { type: "stop", resourceId: 1, release: ref("d1") };
    expect(planned(left({}, { desiredState: "stopped" }), [seen("d1")])).toEqual([stop]);
  });

  test.each(["live", "kept"] as const)("retires once it is replaced, if it is %s", (role) => {
    const supersede = { type: "supersede", deploymentId: 1 };
    expect(planned(left({ role, isSuperseded: true }), [seen("d1", { state: "exited" })])).toEqual([supersede]);
  });

  test("is removed and loses its route once it retires", () => {
    const one = left({ role: "retiring" }, { sites: [site("app1")] });
    const sites = new Map(sitesOf(wanted([resource({ sites: [site("app1")] })]), []).map((each) => [each.id, each]));
    expect(plan(wanted([one]), observed([seen("d1")], { sites }))).toMatchObject([
      { type: "retire", deploymentId: 1 },
      { type: "unroute", siteId: "app1" },
    ]);
    expect(sitesOf(wanted([one]), [seen("d1")])).toEqual([]);
  });

  test("stays while its deployment runs, and is discarded with it", () => {
    const one = left({ role: "candidate" });
    expect(planned(one, [seen("d1")], ["d1"])).toEqual([]);
    expect(planned(one, [seen("d1")])).toMatchObject([{ type: "discard", deploymentId: 1 }]);
  });

  test("goes with its resource or its preview", () => {
    expect(planned(left({}, { isRemoving: true }), [seen("d1")])).toEqual([{ type: "remove_resource", resourceId: 1 }]);
    const closed = left({ pullRequestId: 7 }, { previews: [preview(7, { isRemoving: true, status: "exited" })] });
    expect(planned(closed, [seen("d1")])).toEqual([{ type: "remove_preview", resourceId: 1, pullRequestId: 7 }]);
  });
});
