import { DomainError } from "@berth/core";
import {
  type Compose,
  type ComposeContainer,
  type ComposeDocument,
  type ComposeService,
  interpolated,
  interpolatedDocument,
  isActive,
  isExtended,
  recordOf,
  replicasOf,
  withInheritedScale,
} from "@berth/core/compose";
import type { FileMount, StackContainer, VolumeMount } from "@berth/core/deploy";
import { requireStartable } from "@berth/core/env";
import { LABELS, type Labels, releaseLabels, uninherited } from "@berth/docker-client";
import { PROCESSES_MAX } from "../container.ts";
import type { FileEntry } from "../files.ts";
import { fingerprint } from "./fingerprint.ts";
import { containerMounts } from "./mounts.ts";
import { stackNetworks, type WantedNetwork } from "./networks.ts";
import { SOURCE_IMAGE } from "./source-image.ts";
import { projectName, type StackSpec, scopeOf, stackContainerName } from "./spec.ts";
import { pairsOf, userLabels } from "./values.ts";

/** Document for the compose tool, and the objects that must exist before it runs. */
export interface StackPlan {
  /** The compose file with references filled in. */
  readonly source: ComposeDocument;
  /** Contains no references to anything outside of it, such as variables or files. */
  readonly document: StackDocument;
  readonly volumes: readonly StackVolume[];
  readonly networks: readonly WantedNetwork[];
  /** Aliases by container name, for the server's networks that a container joins before it starts. */
  readonly shared: ReadonlyMap<string, readonly string[]>;
  /** Files by container name, which are copied in before the start. */
  readonly files: ReadonlyMap<string, ContainerFiles>;
}

/** A volume that Berth creates for a stack, as the compose file defines it. */
export interface StackVolume extends VolumeMount {
  readonly driver?: string;
  readonly driverOptions?: Readonly<Record<string, string>>;
  readonly labels?: Labels;
}

export interface StackDocument {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly networks: Readonly<Record<string, { readonly name: string; readonly external: true }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly [section: string]: unknown;
}

export interface ContainerFiles {
  /** Configs, secrets and mounted files of the compose file. */
  readonly entries: readonly FileEntry[];
  /** Storages of type file. */
  readonly mounts: readonly FileMount[];
  /** The image with further files of the source; `null`: there are none. */
  readonly source: string | null;
}

export const NO_STACK_CONTAINER: StackContainer = { env: {}, labels: {}, ports: [], storages: [], networkAliases: [] };

/**
 * Plans how a stack starts. The settings by which Berth recognises and protects containers are applied last, so that
 * no compose file can override them. Pure: the same spec gives the same document.
 * @param compose The artifact's compose file.
 */
export function planStack(spec: StackSpec, compose: Compose, instance: string): StackPlan {
  const { variables } = spec.stack;
  const document = interpolatedDocument(compose.document, variables);
  const networks = stackNetworks(spec, document);
  const planned = compose.containers.map((container, order) => {
    const service = document.services[container.name] ?? {};
    const own = Object.hasOwn(spec.stack.containers, container.name)
      ? spec.stack.containers[container.name]
      : undefined;
    return planContainer(
      { spec, document, service, container, order, own: own ?? NO_STACK_CONTAINER },
      compose,
      instance,
    );
  });
  const { services: _s, volumes: _v, networks: _n, configs: _c, secrets: _e, include: _i, ...rest } = document;
  const external = [...new Set(planned.flatMap(({ mounts }) => mounts.external))];
  const volumes = dedupe(planned.flatMap(({ mounts }) => mounts.owned));
  const names = [...external, ...volumes.map(({ uuid }) => `berth-${uuid}`)];
  const shared = new Map<string, readonly string[]>();
  const services = planned.map(({ container, service, files }) => {
    const said = document.services[container.name] ?? {};
    const joined = networks.of(said, spec.stack.containers[container.name]);
    const sharedNames = networks.sharedNames(said, spec.stack.containers[container.name]);
    if (sharedNames !== undefined) shared.set(container.name, sharedNames);
    const whole = { ...service, ...joined };
    const image = spec.artifact.images[container.name];
    const joins = sharedNames === undefined ? [] : [{ networks: spec.stack.networks, sharedNames }];
    const content = [
      ...joins,
      ...networks.marksOf(said),
      files.entries,
      files.mounts,
      files.source && spec.artifact.images[SOURCE_IMAGE]?.id,
    ];
    const mark = fingerprint(whole, { ...image, isBuilt: image?.digest === null }, content);
    return [container.name, { ...whole, labels: uninherited({ ...whole.labels, [LABELS.spec]: mark }) }] as const;
  });
  return {
    source: document,
    document: {
      ...rest,
      name: projectName(spec.deploymentUuid),
      services: Object.fromEntries(services),
      networks: networks.document,
      volumes: Object.fromEntries(names.map((name) => [name, { external: true, name }])),
    },
    volumes: volumes.map((volume) => ({ ...volume, ...definitionOf(volume, spec, document) })),
    networks: networks.wanted,
    shared,
    files: new Map(planned.map(({ container, files }) => [container.name, files])),
  };
}

/** @param names New name of a network by the name in the plan. */
export function withNetworks(plan: StackPlan, names: ReadonlyMap<string, string>): StackPlan {
  if (names.size === 0) return plan;
  const named = <Network extends { readonly name: string }>(network: Network): Network => ({
    ...network,
    name: names.get(network.name) ?? network.name,
  });
  const networks = Object.entries(plan.document.networks).map(([key, network]) => [key, named(network)] as const);
  return {
    ...plan,
    networks: plan.networks.map(named),
    document: { ...plan.document, networks: Object.fromEntries(networks) },
  };
}

interface Planned {
  readonly spec: StackSpec;
  /** The compose file with references filled in, like `service`. */
  readonly document: ComposeDocument;
  readonly service: ComposeService;
  readonly container: ComposeContainer;
  readonly order: number;
  readonly own: StackContainer;
}

function planContainer(planned: Planned, compose: Compose, instance: string) {
  const { spec, document, service, container, own } = planned;
  const mounts = containerMounts(spec, document, service.volumes ?? [], {
    storages: own.storages,
    carried: carriedBy(spec, container.name).map(({ mountPath }) => mountPath),
  });
  const image = Object.hasOwn(spec.artifact.images, container.name)
    ? spec.artifact.images[container.name]?.image
    : undefined;
  const { build: _b, env_file, label_file: _l, configs: _c, secrets: _s, volumes: _v, ...said } = service;
  const {
    exclude_from_hc: _x,
    develop: _d,
    attach: _t,
    scale: _a,
    networks: _n,
    container_name: _m,
    profiles,
    ...rest
  } = said;
  const { scale = {} } = spec.stack;
  const replicas = Object.hasOwn(scale, container.name)
    ? (scale[container.name] ?? 1)
    : replicasIn(withInheritedScale(container.name, document), container.name);
  const isBase = isExtended(container.name, document);
  const isIdle = !isActive(service, spec.stack.variables);
  return {
    container,
    mounts,
    files: { entries: entriesOf(planned), mounts: mounts.files, source: sourceOf(planned) },
    service: {
      ...rest,
      ...(image === undefined ? {} : { image }),
      ...deployOf(service),
      ...(isIdle ? { profiles } : {}),
      // Several replicas cannot share a name, nor can a service and those that extend it: the tool numbers them.
      ...(replicas === 1 && !isBase ? { container_name: stackContainerName(container.name, spec) } : {}),
      ...(replicas === 1 && !isBase && service.extends == null ? {} : { scale: replicas }),
      pull_policy: "never",
      ...processesOf(service),
      ...restartOf(service),
      environment: environmentOf(planned, compose, env_file != null),
      labels: labelsOf(planned, replicas, instance),
      volumes: mounts.volumes,
      // Limited, and a format that can be read back, whatever the engine's default is.
      logging: { driver: "json-file", options: { "max-size": "20m", "max-file": "3" } },
    },
  };
}

/** Replicas are set by `scale` instead. The process limit is repeated: the tool rejects two that differ. */
function deployOf(service: ComposeService): object {
  if (service.deploy == null) return {};
  const { replicas: _, resources, ...rest } = recordOf(service.deploy);
  if (resources == null) return { deploy: rest };
  const { limits, ...others } = recordOf(resources);
  if (limits == null) return { deploy: { ...rest, resources: others } };
  const limited = { ...recordOf(limits), pids: processesOf(service).pids_limit };
  return { deploy: { ...rest, resources: { ...others, limits: limited } } };
}

/** Always limited: a fork bomb would bring down the whole server. */
function processesOf({ pids_limit, deploy }: ComposeService): { readonly pids_limit: number } {
  const said = Number(pids_limit ?? recordOf(recordOf(recordOf(deploy).resources).limits).pids);
  return { pids_limit: Number.isInteger(said) && said > 0 ? said : PROCESSES_MAX };
}

/** @throws DomainError `deploy.start_failed` where the value is not a number after variables are filled in */
function replicasIn(service: ComposeService, name: string): number {
  const replicas = replicasOf(service);
  if (replicas !== undefined && replicas <= REPLICAS_MAX) return replicas;
  const sentence = `scale or deploy.replicas of ${name} must be an integer from 0 to ${REPLICAS_MAX}. Correct the variable in the compose file.`;
  throw new DomainError("deploy.start_failed", sentence);
}

const REPLICAS_MAX = 100; // Same limit as when the compose file is validated.

/** Default without a setting in the compose file: run until stopped. */
function restartOf({ restart, deploy }: ComposeService): object {
  const isElsewhere = restart == null && deploy?.restart_policy != null;
  return isElsewhere ? {} : { restart: restart === false ? "no" : restart || "unless-stopped" };
}

/**
 * Values are not changed by a shell or by YAML. An `env_file` that is not in the source means the resource's
 * variables.
 */
function environmentOf({ spec, own, container }: Planned, compose: Compose, hasFile: boolean): Record<string, string> {
  const { variables } = spec.stack;
  const said = (compose.environments.get(container.name) ?? []).flatMap(({ key, value }) => {
    const passedOn = Object.hasOwn(variables, key) ? variables[key] : undefined;
    const text = value === null ? passedOn : String(interpolated(value, variables));
    return text === undefined ? [] : [[key, text] as const];
  });
  const env = {
    ...(hasFile ? variables : {}),
    ...Object.fromEntries(said),
    ...own.env,
    BERTH_DEPLOYMENT_UUID: spec.deploymentUuid,
  };
  requireStartable(env);
  return env;
}

function labelsOf(planned: Planned, replicas: number, instance: string): Labels {
  const { spec, service, container, order, own } = planned;
  const [port] = own.ports;
  return {
    ...userLabels({ ...pairsOf(service.labels), ...own.labels }),
    ...releaseLabels({ ...spec, ports: port === undefined ? [] : [port], container: undefined }, instance),
    [LABELS.container]: container.name,
    [LABELS.order]: String(order),
    [LABELS.scope]: scopeOf(spec),
    ...(replicas === 1 ? {} : { [LABELS.replicas]: String(replicas) }),
    ...(container.isExcluded ? { [LABELS.excluded]: "true" } : {}),
  };
}

const carriedBy = ({ artifact }: StackSpec, name: string) =>
  artifact.files.filter(({ container }) => container === name);

const sourceOf = ({ spec, container }: Planned): string | null =>
  carriedBy(spec, container.name).some(({ content }) => content === null)
    ? (spec.artifact.images[SOURCE_IMAGE]?.image ?? null)
    : null;

function entriesOf({ spec, document, service, container }: Planned): readonly FileEntry[] {
  const carried = carriedBy(spec, container.name);
  const given = carried.flatMap(({ mountPath, content, mode }) =>
    content === null ? [] : [{ ...ROOT, mountPath, mode, content: Buffer.from(content, "base64") }],
  );
  const shared = (["configs", "secrets"] as const).flatMap((section) =>
    [service[section] ?? []].flat().flatMap((entry) => sharedFile(spec, document, { section, entry, given: carried })),
  );
  return [...given, ...shared];
}

/** A config or secret of the compose file. One from a file of the source is already among the artifact's files. */
function sharedFile(
  { stack }: StackSpec,
  document: ComposeDocument,
  {
    section,
    entry,
    given,
  }: { section: "configs" | "secrets"; entry: unknown; given: readonly { readonly mountPath: string }[] },
): readonly FileEntry[] {
  const mountPath = sharedPath(section, entry);
  const { source = entry, uid, gid, mode } = recordOf(entry);
  if (given.some((file) => file.mountPath === mountPath)) return [];
  const { content, environment } = recordOf(recordOf(document[section])[String(source)]);
  const ofVariable = typeof environment === "string" ? stack.variables[environment] : undefined;
  const text = typeof content === "string" ? content : ofVariable;
  if (text === undefined) {
    const sentence = `The compose file's ${section} ${String(source).slice(0, 100)} has no content. Give it one, or a variable that has a value.`;
    throw new DomainError("deploy.start_failed", sentence);
  }
  return [
    {
      mountPath,
      content: text,
      mode: numberOf(mode, 8) ?? 0o444,
      uid: numberOf(uid, 10) ?? ROOT.uid,
      gid: numberOf(gid, 10) ?? ROOT.gid,
    },
  ];
}

const ROOT = { uid: 0, gid: 0 };

/** Path of a config or secret in the container. */
export function sharedPath(section: "configs" | "secrets", entry: unknown): string {
  const { source = entry, target = source } = recordOf(entry);
  if (String(target).startsWith("/")) return String(target);
  return section === "secrets" ? `/run/secrets/${String(target)}` : `/${String(target)}`;
}

function numberOf(value: unknown, radix: number): number | undefined {
  const number = typeof value === "string" ? Number.parseInt(value, radix) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 0 ? number : undefined;
}

/** A volume's definition in the compose file, without its name. */
function definitionOf(
  { uuid }: VolumeMount,
  { resourceUuid, stack }: StackSpec,
  { volumes }: ComposeDocument,
): Omit<StackVolume, keyof VolumeMount> {
  const owners = [`${resourceUuid}_`, `${stack.scope ?? resourceUuid}_`];
  const key = owners.flatMap((prefix) => (uuid.startsWith(prefix) ? uuid.slice(prefix.length) : []))[0];
  const named = Object.entries(volumes ?? {}).find(([name, volume]) => (volume?.name ?? name) === key);
  const { driver, driver_opts, labels } = recordOf(named?.[1]);
  return {
    ...(typeof driver === "string" ? { driver } : {}),
    ...(driver_opts == null ? {} : { driverOptions: textsOf(driver_opts) }),
    ...(labels == null ? {} : { labels: userLabels(labels) }),
  };
}

const textsOf = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(pairsOf(value)).map(([key, text]) => [key, text ?? ""]));

function dedupe(mounts: readonly VolumeMount[]): readonly VolumeMount[] {
  const byUuid = new Map<string, VolumeMount>();
  for (const mount of mounts) {
    const known = byUuid.get(mount.uuid);
    // Of several mounts of a volume, one that recorded data is kept.
    byUuid.set(mount.uuid, known?.isRecorded === true ? known : mount);
  }
  return [...byUuid.values()];
}
