import {
  type Compose,
  type ComposeContainer,
  type ComposeDocument,
  type ComposeService,
  DomainError,
  type FileMount,
  type StackContainer,
  type VolumeMount,
} from "@berth/core";
import type { FileEntry } from "../files.ts";
import { LABELS, type Labels, releaseLabels } from "../labels.ts";
import { containerMounts } from "./mounts.ts";
import { stackNetworks, type WantedNetwork } from "./networks.ts";
import { projectName, type StackSpec, scopeOf, stackContainerName } from "./spec.ts";
import { interpolated, pairsOf, recordOf } from "./values.ts";

/** What is told to the compose tool, and what has to be there before. */
export interface StackPlan {
  /** With nothing in it that the tool would have to look up. */
  readonly document: StackDocument;
  readonly volumes: readonly VolumeMount[];
  readonly networks: readonly WantedNetwork[];
  /** By the container's name: what is put into it before it starts. */
  readonly files: ReadonlyMap<string, ContainerFiles>;
}

export interface StackDocument {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly networks: Readonly<Record<string, unknown>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly [section: string]: unknown;
}

export interface ContainerFiles {
  /** Of the text and its source. */
  readonly entries: readonly FileEntry[];
  /** Storages. */
  readonly mounts: readonly FileMount[];
}

export const NO_STACK_CONTAINER: StackContainer = { env: {}, labels: {}, ports: [], storages: [], networkAliases: [] };

/**
 * What a stack is started as. Everything that makes a container Berth's own is written after what the text says, so no
 * text undoes it. Pure: the same spec gives the same document.
 * @param compose Of the artifact's text.
 */
export function planStack(spec: StackSpec, compose: Compose, instance: string): StackPlan {
  const { variables } = spec.stack;
  // It was checked before its references were replaced, and keeps its shape.
  const document = interpolated(compose.document, variables) as ComposeDocument;
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
  return {
    document: {
      ...rest,
      name: projectName(spec.deploymentUuid),
      services: Object.fromEntries(
        planned.map(({ container, service }) => [
          container.name,
          {
            ...service,
            ...networks.of(document.services[container.name] ?? {}, spec.stack.containers[container.name]),
          },
        ]),
      ),
      networks: networks.document,
      volumes: Object.fromEntries(names.map((name) => [name, { external: true, name }])),
    },
    volumes,
    networks: networks.wanted,
    files: new Map(planned.map(({ container, files }) => [container.name, files])),
  };
}

interface Planned {
  readonly spec: StackSpec;
  /** Without references, like `service`. */
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
  const { exclude_from_hc: _x, develop: _d, scale: _a, networks: _n, ...rest } = said;
  return {
    container,
    mounts,
    files: { entries: entriesOf(planned), mounts: mounts.files },
    service: {
      ...rest,
      ...(image === undefined ? {} : { image }),
      ...deployOf(service),
      container_name: stackContainerName(container.name, spec),
      pull_policy: "never",
      restart: service.restart === false ? "no" : (service.restart ?? "unless-stopped"),
      environment: environmentOf(planned, compose, env_file != null),
      labels: labelsOf(planned, instance),
      volumes: mounts.volumes,
      // Bounded, and readable whatever the engine's own default is.
      logging: { driver: "json-file", options: { "max-size": "20m", "max-file": "3" } },
    },
  };
}

/** One container each: names and addresses are of one. */
function deployOf({ deploy }: ComposeService): object {
  const { replicas, ...rest } = recordOf(deploy);
  const isNone = replicas === 0 || replicas === "0";
  return deploy == null ? {} : { deploy: isNone ? { ...rest, replicas: 0 } : rest };
}

/** Byte for byte. A text that names a file of variables which is not in the source means those of the resource. */
function environmentOf({ spec, own, container }: Planned, compose: Compose, hasFile: boolean): Record<string, string> {
  const { variables } = spec.stack;
  const said = (compose.environments.get(container.name) ?? []).flatMap(({ key, value }) => {
    const passedOn = Object.hasOwn(variables, key) ? variables[key] : undefined;
    const text = value === null ? passedOn : String(interpolated(value, variables));
    return text === undefined ? [] : [[key, text] as const];
  });
  return {
    ...(hasFile ? variables : {}),
    ...Object.fromEntries(said),
    ...own.env,
    BERTH_DEPLOYMENT_UUID: spec.deploymentUuid,
  };
}

function labelsOf({ spec, service, container, order, own }: Planned, instance: string): Labels {
  const said = Object.entries({ ...pairsOf(service.labels), ...own.labels }).filter(([name]) => !RESERVED.test(name));
  const [port] = own.ports;
  return {
    ...Object.fromEntries(said.map(([name, value]) => [name, value ?? ""])),
    ...releaseLabels({ ...spec, ports: port === undefined ? [] : [port], container: undefined }, instance),
    [LABELS.container]: container.name,
    [LABELS.order]: String(order),
    [LABELS.scope]: scopeOf(spec),
    ...(container.isExcluded ? { [LABELS.excluded]: "true" } : {}),
  };
}

/** By these Berth and the compose tool find what is theirs. */
const RESERVED = /^(berth|com\.docker\.compose)\./;

const carriedBy = ({ artifact }: StackSpec, name: string) =>
  artifact.files.filter(({ container }) => container === name);

function entriesOf({ spec, document, service, container }: Planned): readonly FileEntry[] {
  const given = carriedBy(spec, container.name).map(({ mountPath, content, mode }) => ({
    ...ROOT,
    mountPath,
    mode,
    content: Buffer.from(content, "base64"),
  }));
  const shared = (["configs", "secrets"] as const).flatMap((section) =>
    [service[section] ?? []].flat().flatMap((entry) => sharedFile(spec, document, { section, entry, given })),
  );
  return [...given, ...shared];
}

/** A config or secret of the text. One from a file of the source is among the files of the artifact. */
function sharedFile(
  { stack }: StackSpec,
  document: ComposeDocument,
  { section, entry, given }: { section: "configs" | "secrets"; entry: unknown; given: readonly FileEntry[] },
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

/** Where a container finds one. */
export function sharedPath(section: "configs" | "secrets", entry: unknown): string {
  const { source = entry, target = source } = recordOf(entry);
  if (String(target).startsWith("/")) return String(target);
  return section === "secrets" ? `/run/secrets/${String(target)}` : `/${String(target)}`;
}

function numberOf(value: unknown, radix: number): number | undefined {
  const number = typeof value === "string" ? Number.parseInt(value, radix) : value;
  return typeof number === "number" && Number.isInteger(number) && number >= 0 ? number : undefined;
}

function dedupe(mounts: readonly VolumeMount[]): readonly VolumeMount[] {
  const byUuid = new Map<string, VolumeMount>();
  for (const mount of mounts) {
    const known = byUuid.get(mount.uuid);
    // Whoever knows that it held data says so for all.
    byUuid.set(mount.uuid, known?.isRecorded === true ? known : mount);
  }
  return [...byUuid.values()];
}
