import type { ManagedProxy } from "@berth/core/ports";
import { labelFilter, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

/** Names of the networks of this instance's releases that an engine knows: overlays, and those of stacks. */
export async function overlaysOf(docker: Docker, instance: string): Promise<readonly string[]> {
  const { label } = labelFilter(ownedLabels(instance));
  return (await docker.listNetworks({ filters: { label } })).map(({ Name }) => Name);
}

/** Connects a container to each of these networks that it is not in. */
export async function joinOverlays(
  docker: Docker,
  { Id, NetworkSettings }: Pick<Docker.ContainerInspectInfo, "Id" | "NetworkSettings">,
  networks: readonly string[],
): Promise<void> {
  for (const name of networks.filter((network) => NetworkSettings.Networks[network] === undefined)) {
    try {
      await docker.getNetwork(name).connect({ Container: Id });
    } catch (error) {
      // 403: it has joined meanwhile. 404: the network was removed.
      const code = statusCodeOf(error);
      if (code !== 403 && code !== 404) throw error;
    }
  }
}

/** A proxy that joins the networks of its upstreams before it routes to them. */
export const onOverlays = (proxy: ManagedProxy, join: () => Promise<void>): ManagedProxy => ({
  ...proxy,
  async put(site) {
    await join();
    await proxy.put(site);
  },
  async sync(sites) {
    await join();
    await proxy.sync(sites);
  },
});
