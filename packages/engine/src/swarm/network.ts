import { setTimeout as delay } from "node:timers/promises";
import { DomainError } from "@berth/core";
import { LABELS, labelFilter, ownedLabels, statusCodeOf, TASK_ROLE } from "@berth/docker-client";
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

/**
 * Removes networks of a machine alone that hide those of the swarm with the same name: from the time before it joined.
 * @returns The name of one that stays, since something uses it, or since it is none of this instance.
 */
export async function hidesNetworks(
  docker: Docker,
  names: readonly string[],
  instance: string,
): Promise<string | undefined> {
  const local = await docker.listNetworks({ filters: { scope: ["local"] } });
  for (const { Id, Name, Labels } of local.filter((network) => names.includes(network.Name))) {
    if (Labels?.[LABELS.instance] !== instance) return Name;
    const joined = await docker.listContainers({ all: true, filters: { network: [Id] } });
    if (joined.some((container) => container.Labels[LABELS.resource] !== undefined)) return Name;
    await leave(docker, Id, instance);
    if (!(await isRemoved(docker, Id))) return Name;
  }
  return undefined;
}

interface OverlayPlace {
  /** Client of a manager. */
  readonly docker: Docker;
  /** Clients of the nodes. */
  readonly nodes: readonly Docker[];
  readonly instance: string;
}

/**
 * Removes the networks that were made for a resource, except those that its services are in. Proxies that have joined
 * them leave. What a lost node still holds is removed with the next one.
 * @param joined Ids or names.
 */
export async function removeOverlays(
  { docker, nodes, instance }: OverlayPlace,
  resourceUuid: string,
  joined: readonly string[],
): Promise<void> {
  const filters = { ...labelFilter({ ...ownedLabels(instance), [LABELS.resource]: resourceUuid }) };
  const made = await docker.listNetworks({ filters });
  const unused = made.filter(({ Id, Name }) => !joined.includes(Id) && !joined.includes(Name));
  for (const { Id } of unused) {
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      await Promise.all(nodes.map((node) => leave(node, Id, instance)));
      if (await isRemoved(docker, Id)) break;
      // The swarm frees the network a moment after the last of its containers.
      await delay(ATTEMPT_MS);
    }
  }
}

/** Takes all containers out of a network that are none of a release. */
async function leave(docker: Docker, id: string, instance: string): Promise<void> {
  const filters = { network: [id], ...labelFilter(ownedLabels(instance)) };
  const found = await docker.listContainers({ all: true, filters }).catch(() => []);
  for (const { Id, Labels } of found) {
    if (Labels[LABELS.role] === TASK_ROLE) continue;
    await docker
      .getNetwork(id)
      .disconnect({ Container: Id, Force: true })
      .catch((cause: unknown) => {
        if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
      });
  }
}

/** Whether it no longer exists. */
async function isRemoved(docker: Docker, id: string): Promise<boolean> {
  try {
    await docker.getNetwork(id).remove();
    return true;
  } catch (cause) {
    const code = statusCodeOf(cause);
    if (code === undefined) throw cause;
    return code === 404;
  }
}

const ATTEMPT_MS = 250;
const ATTEMPTS_MAX = 40;

const SWARM_SCOPE = "swarm";
