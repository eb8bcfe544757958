import type { Duplex } from "node:stream";
import { releaseFilter, TASK_ROLE } from "@berth/docker-client";
import type { NetworkInspectInfo } from "dockerode";
import { answered } from "./answered.ts";
import type { SwarmNode } from "./nodes.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Where a container is reached from its node. */
interface Way {
  readonly node: SwarmNode;
  readonly address: string;
  readonly foundMs: number;
}

/**
 * Connects to containers by their address in an overlay. That is not reachable from the network of a node itself, but
 * each container has another address, in the bridge between its node and its networks.
 */
export class TaskConnector {
  readonly #instance: string;
  readonly #ways = new Map<string, Way>();

  constructor(instance: string) {
    this.#instance = instance;
  }

  /** @returns `undefined` if no container of a release on these nodes has the address. */
  async connect(
    nodes: () => Promise<readonly SwarmNode[]>,
    { host, port }: Address,
    signal?: AbortSignal,
  ): Promise<Duplex | undefined> {
    const known = this.#ways.get(host);
    const isRecent = known !== undefined && performance.now() - known.foundMs < KEPT_MS;
    const way = isRecent ? known : await this.#look(await nodes(), host, known?.node.id);
    return await way?.node.host.connectTcp({ host: way.address, port }, signal);
  }

  /** @param lastId The node on which it was: most often it still is, and no other has to be asked. */
  async #look(nodes: readonly SwarmNode[], host: string, lastId: string | undefined): Promise<Way | undefined> {
    const { last = [], others = [] } = Object.groupBy(nodes, ({ id }) => (id === lastId ? "last" : "others"));
    return (last.length > 0 ? await this.#find(last, host) : undefined) ?? (await this.#find(others, host));
  }

  async #find(nodes: readonly SwarmNode[], host: string): Promise<Way | undefined> {
    const asked = nodes.map(async (node) => {
      const address = await answered(bridgeAddress(node, this.#instance, host));
      if (address === undefined) throw new Error("It is not on this node.");
      return { node, address };
    });
    // The first: a node that does not answer would hold up the health checks of all others.
    const found = await Promise.any(asked).catch(() => undefined);
    const nowMs = performance.now();
    for (const [key, { foundMs }] of this.#ways) if (nowMs - foundMs >= FORGOTTEN_MS) this.#ways.delete(key);
    if (found === undefined) return undefined;
    const way = { ...found, foundMs: nowMs };
    this.#ways.set(host, way);
    return way;
  }
}

/** Health checks ask each second, and another container may get the address later. */
const KEPT_MS = 5000;
/** Health checks of what runs ask more often. */
const FORGOTTEN_MS = 120_000;

/** Address in the node's bridge of the container with this overlay address; `undefined`: it is not on this node. */
async function bridgeAddress({ docker }: SwarmNode, instance: string, host: string): Promise<string | undefined> {
  const filters = { ...releaseFilter(instance, {}, TASK_ROLE) };
  const containers = await docker.listContainers({ filters });
  const has = ({ NetworkSettings }: (typeof containers)[number]) =>
    Object.values(NetworkSettings.Networks).some(({ IPAddress }) => IPAddress === host);
  const container = containers.find(has);
  if (container === undefined) return undefined;
  const [info, bridge] = await Promise.all([
    docker.getContainer(container.Id).inspect(),
    docker.getNetwork(BRIDGE).inspect() as Promise<NetworkInspectInfo>,
  ]);
  const { SandboxID = "" } = info.NetworkSettings as { readonly SandboxID?: string }; // Missing in the types.
  const name = `gateway_${SandboxID.slice(0, 12)}`;
  const endpoint = Object.values(bridge.Containers ?? {}).find(({ Name }) => Name === name);
  return endpoint?.IPv4Address.split("/")[0];
}

const BRIDGE = "docker_gwbridge";
