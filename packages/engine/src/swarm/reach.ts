import type { Duplex } from "node:stream";
import { releaseFilter, TASK_ROLE } from "@berth/docker-client";
import type { NetworkInspectInfo } from "dockerode";
import { answered } from "./answered.ts";
import type { SwarmNode } from "./nodes.ts";
import type { RunningTask } from "./watch.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Who has an address, and who can be asked. */
export interface Surroundings {
  /** The container that has it by its events; `undefined` where they do not say. */
  readonly running: RunningTask | undefined;
  readonly nodes: () => Promise<readonly SwarmNode[]>;
}

/** Where a container is reached from its node. */
interface Way {
  readonly node: SwarmNode;
  readonly address: string;
  readonly foundMs: number;
  /** The run of the container that had the overlay address then. */
  readonly run: string | undefined;
}

/**
 * Connects to containers by their address in an overlay. That is not reachable from the network of a node itself, but
 * each container has another address, in the bridge between its node and its networks, as long as it runs.
 */
export class TaskConnector {
  readonly #instance: string;
  readonly #ways = new Map<string, Way>();

  constructor(instance: string) {
    this.#instance = instance;
  }

  /** @returns `undefined` if no container of a release on these nodes has the address. */
  async connect(
    { running, nodes }: Surroundings,
    { host, port }: Address,
    signal?: AbortSignal,
  ): Promise<Duplex | undefined> {
    const run = running && `${running.id} ${running.startedAt?.getTime()}`;
    const known = this.#ways.get(host);
    const keptMs = run !== undefined && run === known?.run ? KEPT_OF_RUN_MS : KEPT_MS;
    const isRecent = known !== undefined && performance.now() - known.foundMs < keptMs;
    const lastId = running?.node.id ?? known?.node.id;
    const way = isRecent ? known : await this.#look(await nodes(), { host, lastId, run });
    try {
      return await way?.node.host.connectTcp({ host: way.address, port }, signal);
    } catch (cause) {
      // Nothing listens there, or its networks were changed by hand.
      this.#ways.delete(host);
      throw cause;
    }
  }

  /** The node on which it is or was comes first: most often no other has to be asked. */
  async #look(nodes: readonly SwarmNode[], { lastId, ...wanted }: WantedWay): Promise<Way | undefined> {
    const { last = [], others = [] } = Object.groupBy(nodes, ({ id }) => (id === lastId ? "last" : "others"));
    return (last.length > 0 ? await this.#find(last, wanted) : undefined) ?? (await this.#find(others, wanted));
  }

  async #find(nodes: readonly SwarmNode[], { host, run }: Omit<WantedWay, "lastId">): Promise<Way | undefined> {
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
    const way = { ...found, run, foundMs: nowMs };
    this.#ways.set(host, way);
    return way;
  }
}

interface WantedWay {
  readonly host: string;
  readonly lastId: string | undefined;
  readonly run: string | undefined;
}

/** Health checks ask each second, and another container may get the address later. */
const KEPT_MS = 5000;
/** Events say that the same container runs there. The limit is for what they do not say: networks changed by hand. */
const KEPT_OF_RUN_MS = 300_000;
/** Health checks of what runs ask more often than the difference. */
const FORGOTTEN_MS = 420_000;

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
