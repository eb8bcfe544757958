import fc from "fast-check";
import type { ContainerState, Health } from "./container-state.ts";
import type { Operation } from "./operation.ts";
import { observed, preview, release, replicasOf, resource, seen, site, wanted } from "./plan.fixture.ts";
import { siteIdOf, siteOf, subjectId, upstreamsOf } from "./site.ts";
import type { Observed, Wanted, WantedRelease, WantedResource } from "./wanted.ts";

export interface World {
  readonly wanted: Wanted;
  readonly observed: Observed;
}

const STATES: readonly ContainerState[] = ["created", "starting", "running", "restarting", "exited", "paused", "dead"];
const uuids = ["d1", "d2", "d3", "d4", "d5", "d6"];

/**
 * Two resources with six deployments, each resource with at most one live release, observed in any state or not at
 * all.
 */
export const worlds: fc.Arbitrary<World> = fc
  .record({
    roles: fc.array(fc.constantFrom("none", "live", "candidate", "retiring", "kept", "active"), {
      minLength: 6,
      maxLength: 6,
    }),
    states: fc.array(fc.option(fc.constantFrom(...STATES)), { minLength: 6, maxLength: 6 }),
    builtBy: fc.array(fc.constantFrom(0, 1, 2, 3), { minLength: 6, maxLength: 6 }),
    stopped: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    removing: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    replicas: fc.array(fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }), { minLength: 2, maxLength: 2 }),
    ofPreview: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    closed: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    restarts: fc.nat({ max: 3 }),
    left: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    superseded: fc.array(fc.boolean(), { minLength: 2, maxLength: 2 }),
    names: fc.array(fc.option(fc.constantFrom("shop", "renamed")), { minLength: 6, maxLength: 6 }),
  })
  .map(
    ({ roles, states, builtBy, stopped, removing, replicas, ofPreview, closed, restarts, left, superseded, names }) => {
      const resources = [0, 1].map((index): WantedResource => {
        const own = uuids.flatMap((uuid, at) => (at % 2 === index ? [{ uuid, at, role: roles[at] }] : []));
        const pullRequest = (at: number) => (ofPreview[at] ? 7 : 0);
        const lives = own.filter(({ role }) => role === "live");
        const firstOf = (at: number) => lives.find((live) => pullRequest(live.at) === pullRequest(at));
        return resource({
          id: index + 1,
          uuid: `app${index + 1}`,
          desiredState: stopped[index] ? "stopped" : "running",
          isRemoving: removing[index] === true,
          hasLeft: left[index] === true,
          replicas: replicas[index],
          sites: [site(`app${index + 1}`)],
          previews: [
            preview(7, { id: index + 1, isRemoving: closed[index] === true, sites: [site(`app${index + 1}`, 7)] }),
          ],
          releases: own.flatMap(({ uuid, at, role }) => {
            if (role === "none" || (role === "live" && firstOf(at)?.uuid !== uuid)) return [];
            const builder = own[builtBy[at] ?? 0]?.uuid ?? uuid;
            const isSuperseded = left[index] === true && superseded[index] === true;
            const made = { builtBy: builder, pullRequestId: pullRequest(at), isSuperseded };
            return [release(uuid, { ...made, role: role === "active" ? "candidate" : role } as WantedRelease)];
          }),
        });
      });
      const active = uuids.filter((_uuid, at) => roles[at] === "active");
      const releases = uuids.flatMap((uuid, at) => {
        const state = states[at];
        if (!state) return [];
        const now = names[at];
        const named = now ? { containerName: { now, wanted: "shop" } } : {};
        return [seen(uuid, { resourceUuid: `app${(at % 2) + 1}`, state, restartCount: restarts, ...named })];
      });
      return { wanted: wanted(resources, active), observed: observed(releases) };
    },
  );

/** Applies operations to a modelled engine, proxy and database. */
export function applyOperations({ wanted, observed }: World, operations: readonly Operation[]): World {
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
    const before = releases.find((each) => each.deploymentUuid === deploymentUuid);
    drop(deploymentUuid);
    const { restartCount = 0, containerName } = before ?? {};
    releases.push(
      seen(deploymentUuid, { resourceUuid, state, restartCount, ...(containerName ? { containerName } : {}) }),
    );
  };

  const scaled = (deploymentUuid: string, replicas: number) => {
    releases = releases.map((state) =>
      state.deploymentUuid === deploymentUuid ? { ...state, containers: replicasOf(state, replicas) } : state,
    );
  };

  for (const operation of operations) {
    switch (operation.type) {
      case "start":
        become(operation.release.deploymentUuid, operation.release.resourceUuid, "running");
        break;
      case "scale":
        scaled(operation.release.deploymentUuid, operation.replicas);
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
      case "supersede":
        resources = resources.map((current) => ({
          ...current,
          releases: current.releases.map((each) =>
            each.deploymentId === operation.deploymentId ? { ...each, role: "retiring" } : each,
          ),
        }));
        break;
      case "retire":
        if (operation.keepsArtifact) become(operation.release.deploymentUuid, operation.release.resourceUuid, "exited");
        else drop(operation.release.deploymentUuid);
        forget(operation.deploymentId);
        break;
      case "route": {
        const { pullRequestId } = operation;
        const subject = resources.find(({ id }) => id === operation.resourceId);
        const of7 = subject?.previews.find((each) => each.pullRequestId === pullRequestId);
        const wantedSites = (pullRequestId === 0 ? subject?.sites : of7?.sites) ?? [];
        if (subject === undefined) break;
        const live = subject.releases.find((each) => each.role === "live" && each.pullRequestId === pullRequestId);
        const state = releases.find(({ deploymentUuid }) => deploymentUuid === live?.deploymentUuid);
        const desired = pullRequestId === 0 ? subject.desiredState : "running";
        const target = { desiredState: desired, live, observed: state, replicas: subject.replicas };
        for (const one of wantedSites) sites.set(subjectId(one), siteOf(one, upstreamsOf(target)));
        break;
      }
      case "unroute":
        sites.delete(operation.siteId);
        break;
      case "take_name":
        releases = releases.map((state) =>
          state.deploymentUuid === operation.release.deploymentUuid && state.containerName
            ? { ...state, containerName: { ...state.containerName, now: state.containerName.wanted } }
            : state,
        );
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
        change(operation.resourceId, (current) => ({
          ...current,
          status: operation.status,
          statusProblem: operation.problem,
        }));
        break;
      case "give_up":
        change(operation.resourceId, (current) => ({ ...current, desiredState: "stopped" }));
        break;
      case "set_restarts":
        change(operation.resourceId, (current) => ({ ...current, restartCount: operation.restartCount }));
        break;
      case "end_scale_problem":
        change(operation.resourceId, (current) => ({ ...current, hasScaleProblem: false }));
        break;
      case "remove_resource": {
        const gone = resources.find(({ id }) => id === operation.resourceId);
        resources = resources.filter(({ id }) => id !== operation.resourceId);
        releases = releases.filter(({ resourceUuid }) => resourceUuid !== gone?.uuid);
        if (gone) for (const pullRequestId of [0, 7]) sites.delete(siteIdOf(gone.uuid, pullRequestId));
        break;
      }
      case "set_preview_status":
        resources = resources.map((current) => ({
          ...current,
          previews: current.previews.map((each) =>
            each.id === operation.previewId ? { ...each, status: operation.status } : each,
          ),
        }));
        break;
      case "remove_preview": {
        const subject = resources.find(({ id }) => id === operation.resourceId);
        const own = subject?.releases.filter(({ pullRequestId }) => pullRequestId === operation.pullRequestId) ?? [];
        for (const each of own) {
          drop(each.deploymentUuid);
          forget(each.deploymentId);
        }
        if (subject) sites.delete(siteIdOf(subject.uuid, operation.pullRequestId));
        change(operation.resourceId, (current) => ({ ...current, previews: [] }));
        break;
      }
    }
  }
  const health = new Map<string, Health>(releases.map(({ deploymentUuid }) => [deploymentUuid, "healthy"]));
  return { wanted: { ...wanted, resources }, observed: { ...observed, releases, sites, health } };
}
