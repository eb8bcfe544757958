import type { Health } from "./container-state.ts";
import type { Operation } from "./operation.ts";
import { REPLICA, type ReleaseContainer, type ReleaseState } from "./release.ts";
import { PLAIN_SITE, type SiteSubject, siteOf } from "./site.ts";
import type { Observed, Wanted, WantedPreview, WantedRelease, WantedResource } from "./wanted.ts";

export const UPSTREAM = { host: "127.0.0.1", port: 4000 };

export const release = (deploymentUuid: string, change: Partial<WantedRelease> = {}): WantedRelease => ({
  deploymentId: Number(deploymentUuid.replace(/\D/g, "") || 0),
  deploymentUuid,
  pullRequestId: 0,
  role: "live",
  builtBy: deploymentUuid,
  upstream: UPSTREAM,
  isSuccessorActive: false,
  ...change,
});

export const resource = (change: Partial<WantedResource> = {}): WantedResource => ({
  id: 1,
  uuid: "app1",
  kind: "application",
  status: "running:healthy",
  desiredState: "running",
  isRemoving: false,
  restartCount: 0,
  releases: [release("d1")],
  isAlone: false,
  isDeploying: false,
  sites: [],
  previews: [],
  ...change,
});

export const preview = (pullRequestId: number, change: Partial<WantedPreview> = {}): WantedPreview => ({
  id: pullRequestId,
  pullRequestId,
  status: "running:healthy",
  isRemoving: false,
  sites: [],
  ...change,
});

export const replicasOf = (state: ReleaseState, replicas: number): readonly ReleaseContainer[] =>
  Array.from({ length: replicas }, (_, index) => ({
    name: REPLICA,
    isReplica: true,
    number: index + 1,
    state: state.state,
    restartCount: 0,
    exitCode: null,
    startedAt: null,
    address: `10.0.0.${index + 1}`,
    port: 3000,
    isExcluded: false,
  }));

export const seen = (deploymentUuid: string, change: Partial<ReleaseState> = {}): ReleaseState => ({
  resourceUuid: "app1",
  deploymentUuid,
  state: "running",
  upstream: change.state === "exited" ? null : UPSTREAM,
  restartCount: 0,
  exitCode: null,
  startedAt: null,
  ...change,
});

export const site = (uuid: string, pullRequestId = 0): SiteSubject => ({
  ...PLAIN_SITE,
  owner: { uuid, name: uuid },
  domains: [{ host: `${uuid}.example.com`, path: "/", url: `https://${uuid}.example.com` }],
  pullRequestId,
});

export const wanted = (resources: readonly WantedResource[], active: readonly string[] = []): Wanted => ({
  resources,
  activeDeployments: new Set(active),
});

export const observed = (releases: readonly ReleaseState[], change: Partial<Observed> = {}): Observed => ({
  releases,
  health: new Map<string, Health>(releases.map(({ deploymentUuid }) => [deploymentUuid, "healthy"])),
  sites: new Map(),
  backingOff: new Set(),
  startProblems: new Map(),
  unnamed: new Set(),
  restarts: new Map(),
  ...change,
});

export const types = (operations: readonly Operation[]) => operations.map(({ type }) => type);
export const ref = (deploymentUuid: string) => ({ resourceUuid: "app1", deploymentUuid });

export function siteFor({ sites: [subject] }: WantedResource) {
  if (!subject) throw new Error("The resource has no site.");
  return siteOf(subject, []);
}
