import type { ReleaseRef, ReleaseSpec } from "@berth/core/deploy";

/** Labels of every object that Berth creates on a server. It changes and removes nothing without them. */
export const LABELS = {
  managed: "berth.managed",
  instance: "berth.instance",
  resource: "berth.resource",
  deployment: "berth.deployment",
  kind: "berth.kind",
  name: "berth.name",
  /** Name of the container once it is the live release. Default: named by its deployment. */
  lastingName: "berth.lasting-name",
  /** Purpose of a container: builds and proxies have containers too. */
  role: "berth.role",
  storage: "berth.storage",
  /** The port that takes requests; missing where nothing does. */
  port: "berth.port",
  /** Fingerprint of what a proxy's container was made from. */
  version: "berth.version",
  /** Fingerprint of what a container was made from. */
  spec: "berth.spec",
  /** Name in the compose file, for one of several containers of a release. */
  container: "berth.container",
  /** How many there are of it, where they are several. */
  replicas: "berth.replicas",
  /** Its place in the text. */
  order: "berth.order",
  /** `true`: it runs once, or is left out of the status. */
  excluded: "berth.excluded",
  /** The part of network names that identifies a release of several containers. */
  scope: "berth.scope",
} as const;

export const RELEASE_ROLE = "release";

export type Labels = Readonly<Record<string, string>>;

type LabelName = (typeof LABELS)[keyof typeof LABELS];

/** Empty as it is where a container does not have it: no image lends it one. */
export const labelOf = (labels: Labels | null | undefined, name: LabelName): string | undefined =>
  labels?.[name] || undefined;

const NONE: Labels = Object.fromEntries(Object.values(LABELS).map((name) => [name, ""]));

/**
 * These labels, and every other one of Berth's empty. What an image or a container does not say itself it has from the
 * image that it is made of, which anybody may have made.
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

/** As the engine filters lists and events. */
export const labelFilter = (labels: Labels): { readonly label: string[] } => ({
  label: Object.entries(labels).map(([name, value]) => `${name}=${value}`),
});

export const releaseFilter = (instance: string, ref: Partial<ReleaseRef> = {}): { readonly label: string[] } =>
  labelFilter({
    ...ownedLabels(instance),
    [LABELS.role]: RELEASE_ROLE,
    ...(ref.resourceUuid === undefined ? {} : { [LABELS.resource]: ref.resourceUuid }),
    ...(ref.deploymentUuid === undefined ? {} : { [LABELS.deployment]: ref.deploymentUuid }),
  });

/** `undefined`: not a release of this instance. */
export function refOf(labels: Labels | undefined, instance: string): ReleaseRef | undefined {
  if (labels?.[LABELS.instance] !== instance || labels[LABELS.role] !== RELEASE_ROLE) return undefined;
  const resourceUuid = labelOf(labels, LABELS.resource);
  const deploymentUuid = labelOf(labels, LABELS.deployment);
  return resourceUuid && deploymentUuid ? { resourceUuid, deploymentUuid } : undefined;
}
