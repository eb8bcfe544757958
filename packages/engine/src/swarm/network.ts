import { DomainError } from "@berth/core";
import { LABELS } from "@berth/docker-client";
import type Docker from "dockerode";
import { ensureNetwork, OVERLAY, removeNetwork } from "../docker/networks.ts";

/**
 * Creates the network that releases of a swarm join, if it does not exist. An unused one of the manager alone, from the
 * time before it was used as a cluster, is replaced.
 * @throws DomainError `deploy.start_failed` if a network of the manager alone has the name.
 */
export async function ensureOverlay(docker: Docker, name: string, instance: string): Promise<void> {
  await ensureNetwork(docker, name, instance, OVERLAY);
  const found = await docker.getNetwork(name).inspect();
  if (found.Scope === SWARM_SCOPE) return;
  if (found.Labels?.[LABELS.instance] === instance) {
    await removeNetwork(docker, found.Id);
    await ensureNetwork(docker, name, instance, OVERLAY);
    if ((await docker.getNetwork(name).inspect()).Scope === SWARM_SCOPE) return;
  }
  const message = `The network ${name} of the manager is not a network of its Docker Swarm. Remove it with docker network rm ${name}, or choose another destination, then deploy again.`;
  throw new DomainError("deploy.start_failed", message);
}

const SWARM_SCOPE = "swarm";
