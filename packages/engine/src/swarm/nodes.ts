import type { EngineImages } from "@berth/core/ports";
import type { Host } from "@berth/host";
import type Docker from "dockerode";
import type { ImageBuilder } from "../docker/builder.ts";
import type { ComposeTool } from "../docker/compose/tool.ts";
import { answered } from "./answered.ts";

/** A node of a swarm that is a server of Berth's: its containers are reached by its own engine. */
export interface SwarmNode {
  /** The swarm's id of it. */
  readonly id: string;
  /** Name of the server. */
  readonly name: string;
  readonly host: Host;
  readonly docker: Docker;
  readonly images: EngineImages;
  readonly builder: ImageBuilder;
  readonly compose: ComposeTool;
}

/**
 * Nodes that are servers of Berth's.
 * @param isFresh Reads them now. Default: they may be a moment old.
 */
export type ReadNodes = (isFresh?: boolean) => Promise<readonly SwarmNode[]>;

/** A node as the managers see it. */
export interface ClusterNode {
  readonly id: string;
  readonly hostname: string;
  readonly isManager: boolean;
  /** The managers hear from it, or have just chosen a leader, which has not heard from it yet. */
  readonly isReady: boolean;
  /** The leader is new and has not heard from it yet: it gives it no tasks until then, and takes none away. */
  readonly isUnknown: boolean;
  /** It accepts tasks: it is neither paused nor drained. */
  readonly isActive: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** Of its engine, set on the machine itself. */
  readonly engineLabels: Readonly<Record<string, string>>;
  readonly os: string;
  readonly architecture: string;
}

/** A node that is a server of Berth's. */
export type OwnNode = ClusterNode & { readonly node: SwarmNode };

/** Those of the nodes that are servers of Berth's. */
export function ownNodes(all: readonly ClusterNode[], adapters: readonly SwarmNode[]): readonly OwnNode[] {
  const own = new Map(adapters.map((node) => [node.id, node]));
  return all.flatMap((found) => {
    const node = own.get(found.id);
    return node === undefined ? [] : { ...found, node };
  });
}

/** A node with the name by which people know it: that of its server, if it is one of Berth's. */
export type NamedNode = ClusterNode & { readonly name: string };

export function namedNodes(
  all: readonly ClusterNode[],
  adapters: readonly Pick<SwarmNode, "id" | "name">[],
): readonly NamedNode[] {
  const names = new Map(adapters.map(({ id, name }) => [id, name]));
  return all.map((node) => ({ ...node, name: names.get(node.id) ?? node.hostname }));
}

/** Those that Berth reaches. */
export async function answering(nodes: readonly OwnNode[]): Promise<readonly OwnNode[]> {
  const answers = await Promise.all(nodes.map(({ node }) => answered(node.docker.ping())));
  return nodes.filter((_node, at) => answers[at] !== undefined);
}

/** The answer of a manager, which the library types as any. */
export interface NodeAnswer {
  readonly ID: string;
  readonly Version: { readonly Index: number };
  readonly Spec: {
    readonly Role?: string;
    readonly Availability?: string;
    readonly Labels?: Readonly<Record<string, string>> | null;
  };
  readonly Description?: {
    readonly Hostname?: string;
    readonly Platform?: { readonly OS?: string; readonly Architecture?: string };
    readonly Resources?: { readonly NanoCPUs?: number; readonly MemoryBytes?: number };
    readonly Engine?: { readonly EngineVersion?: string; readonly Labels?: Readonly<Record<string, string>> | null };
  };
  readonly Status: { readonly State: string; readonly Addr?: string };
  readonly ManagerStatus?: { readonly Leader?: boolean; readonly Reachability?: string; readonly Addr?: string };
}

export const listNodes = async (docker: Docker): Promise<readonly NodeAnswer[]> => await docker.listNodes();

export async function clusterNodes(docker: Docker): Promise<readonly ClusterNode[]> {
  const found = await listNodes(docker);
  return found.map(({ ID, Spec, Description, Status }) => ({
    id: ID,
    hostname: Description?.Hostname ?? "",
    isManager: Spec.Role === "manager",
    isReady: Status.State === "ready" || Status.State === "unknown",
    isUnknown: Status.State === "unknown",
    isActive: Spec.Availability === "active",
    labels: Spec.Labels ?? {},
    engineLabels: Description?.Engine?.Labels ?? {},
    os: Description?.Platform?.OS ?? "",
    architecture: Description?.Platform?.Architecture ?? "",
  }));
}

/** Sets labels of a node, and removes those that are `undefined`. Idempotent. */
export const labelNode = (
  docker: Docker,
  id: string,
  change: Readonly<Record<string, string | undefined>>,
): Promise<void> =>
  updateNode(docker, id, (spec) => {
    const before = spec.Labels ?? {};
    if (Object.entries(change).every(([name, value]) => before[name] === value)) return undefined;
    return { ...spec, Labels: changedLabels(before, change) };
  });

/** Labels after a change, which removes those that it sets to nothing. */
export const changedLabels = (
  before: Readonly<Record<string, string>>,
  change: Readonly<Record<string, string | null | undefined>>,
): Readonly<Record<string, string | null | undefined>> =>
  Object.fromEntries(Object.entries({ ...before, ...change }).filter(([, value]) => value != null));

/**
 * Changes a node, as often as others change it at the same moment.
 * @param change Returns `undefined` where nothing has to be changed.
 */
export async function updateNode(
  docker: Docker,
  id: string,
  change: (spec: NodeAnswer["Spec"]) => object | undefined,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const node = docker.getNode(id);
    const { Spec, Version } = (await node.inspect()) as NodeAnswer; // Typed as any by the library.
    const wanted = change(Spec);
    if (wanted === undefined) return;
    try {
      await node.update({ ...wanted, version: Version.Index });
      return;
    } catch (cause) {
      const isOutdated = cause instanceof Error && /update out of sequence/.test(cause.message);
      if (!isOutdated || attempt === ATTEMPTS_MAX) throw cause;
    }
  }
}

const ATTEMPTS_MAX = 10;
