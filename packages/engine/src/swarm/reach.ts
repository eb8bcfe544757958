import type { Duplex } from "node:stream";
import { releaseFilter, TASK_ROLE } from "@berth/docker-client";
import type { NetworkInspectInfo } from "dockerode";
import type { SwarmNode } from "./nodes.ts";

interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Opens a connection to a container by its address in the overlay. That is not reachable from the network of a node
 * itself, but the container has another address, in the bridge between its node and its networks.
 * @returns `undefined` if no container of a release on these nodes has the address.
 */
export async function connectToTask(
  nodes: readonly SwarmNode[],
  instance: string,
  { host, port }: Address,
  signal?: AbortSignal,
): Promise<Duplex | undefined> {
  const found = await Promise.all(nodes.map((node) => bridgeAddress(node, instance, host)));
  const at = found.findIndex((address) => address !== undefined);
  const node = nodes[at];
  const address = found[at];
  if (node === undefined || address === undefined) return undefined;
  return await node.host.connectTcp({ host: address, port }, signal);
}

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
