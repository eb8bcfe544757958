import type { ManagedProxy } from "@berth/core/ports";
import { labelFilter, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";

/** Connects a container to each network of this instance's releases that it is not in: overlays, and those of stacks. */
export async function joinOverlays(
  docker: Docker,
  instance: string,
  { Id, NetworkSettings }: Pick<Docker.ContainerInspectInfo, "Id" | "NetworkSettings">,
): Promise<void> {
  const { label } = labelFilter(ownedLabels(instance));
  const networks = await docker.listNetworks({ filters: { label } });
  for (const { Name } of networks.filter((network) => NetworkSettings.Networks[network.Name] === undefined)) {
    try {
      await docker.getNetwork(Name).connect({ Container: Id });
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
