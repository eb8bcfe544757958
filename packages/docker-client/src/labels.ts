import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";

/** Labels of every object that Berth creates on a server. Berth changes and removes nothing without them. */
export const LABELS = {
  managed: "berth.managed",
  instance: "berth.instance",
  resource: "berth.resource",
  deployment: "berth.deployment",
  kind: "berth.kind",
  name: "berth.name",
  /** Permanent name of the container once it is the live release. Default: named after its deployment. */
  lastingName: "berth.lasting-name",
  /** Purpose of a container, since builds and proxies use containers too. */
  role: "berth.role",
  storage: "berth.storage",
  /** The port that receives requests, if any. */
  port: "berth.port",
  /** Fingerprint of the definition of a proxy's container. */
  version: "berth.version",
  /** Fingerprint of the definition of a container. */
  spec: "berth.spec",
  /** Name in the compose file, for a release of several containers. */
  container: "berth.container",
  /** Number of replicas, if more than one. */
  replicas: "berth.replicas",
  /** Its position in the compose file. */
  order: "berth.order",
  /** `true`: it runs only once, or is excluded from the status. */
  excluded: "berth.excluded",
  /** The part of network names that identifies a stack. */
  scope: "berth.scope",
  /** Counts how often Berth started a release of a swarm: only its containers of the same run count as restarts. */
  run: "berth.run",
} as const;

/** The compose tool numbers the containers of a service by it. */
export const COMPOSE_NUMBER = "com.docker.compose.container-number";

export const RELEASE_ROLE = "release";
/** Role of a release's containers that a swarm made: not those of the engine of the node where they run. */
export const TASK_ROLE = "task";
/** Role of a container that never runs: an image with a release's files is made of it. */
export const FILES_ROLE = "files";
export type ReleaseRole = typeof RELEASE_ROLE | typeof TASK_ROLE;

export type Labels = Readonly<Record<string, string>>;

type LabelName = (typeof LABELS)[keyof typeof LABELS];

/** An empty label counts as missing, see `uninherited`. */
export const labelOf = (labels: Labels | null | undefined, name: LabelName): string | undefined =>
  labels?.[name] || undefined;

const NONE: Labels = Object.fromEntries(Object.values(LABELS).map((name) => [name, ""]));

/**
 * These labels, and all others of Berth's set to empty: a container inherits missing labels from its image, which
 * anyone may have made.
 */
export const uninherited = (labels: Labels): Labels => ({ ...NONE, ...labels });

export const ownedLabels = (instance: string): Labels => ({
  [LABELS.managed]: "true",
  [LABELS.instance]: instance,
});

export function releaseLabels(spec: ReleaseSpec, instance: string): Labels {
  const [port] = spec.ports;
  return {
    ...spec.container?.labels,
    ...ownedLabels(instance),
    [LABELS.role]: RELEASE_ROLE,
    [LABELS.resource]: spec.resourceUuid,
    [LABELS.deployment]: spec.deploymentUuid,
    [LABELS.kind]: spec.kind,
    [LABELS.name]: spec.name,
    ...(port === undefined ? {} : { [LABELS.port]: String(port) }),
    ...(spec.containerName === undefined ? {} : { [LABELS.lastingName]: spec.containerName }),
  };
}

/** Labels in the form of the engine's filters. */
export const labelFilter = (labels: Labels): { readonly label: string[] } => ({
  label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
});

export const releaseFilter = (
  instance: string,
  ref: Partial<ReleaseRef> = {},
  role: ReleaseRole | typeof FILES_ROLE = RELEASE_ROLE,
): { readonly label: string[] } =>
  labelFilter({
    ...ownedLabels(instance),
    [LABELS.role]: role,
    ...(ref.resourceUuid === undefined ? {} : { [LABELS.resource]: ref.resourceUuid }),
    ...(ref.deploymentUuid === undefined ? {} : { [LABELS.deployment]: ref.deploymentUuid }),
  });

/** `undefined`: the labels are not of a release of this instance. */
export function refOf(labels: Labels | undefined, instance: string): ReleaseRef | undefined {
  if (labels?.[LABELS.instance] !== instance || !RELEASE_ROLES.has(labels[LABELS.role] ?? "")) return undefined;
  const resourceUuid = labelOf(labels, LABELS.resource);
  const deploymentUuid = labelOf(labels, LABELS.deployment);
  return resourceUuid && deploymentUuid ? { resourceUuid, deploymentUuid } : undefined;
}

const RELEASE_ROLES: ReadonlySet<string> = new Set<ReleaseRole>([RELEASE_ROLE, TASK_ROLE]);
