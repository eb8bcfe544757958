import { LABELS, type Labels, labelFilter, ownedLabels, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { NetworkCreateOptions, NetworkInspectInfo } from "dockerode";

const last = new WeakMap<Docker, Promise<void>>();

/** Creates the network that releases join, if no network has that name. */
export function ensureNetwork(docker: Docker, name: string, instance: string, more: NetworkMore = {}): Promise<void> {
  // Serialised: releases that start at once would each create one.
  const work = () => ensureAlone(docker, name, instance, more);
  const next = (last.get(docker) ?? Promise.resolve()).then(work, work);
  last.set(docker, next);
  return next;
}

/** Options of a network beyond the common ones. */
export type NetworkMore = Partial<Omit<NetworkCreateOptions, "Name">>;

/** A network of all nodes of a swarm, which containers that are no tasks can join too. */
export const OVERLAY: NetworkMore = { Driver: "overlay", Attachable: true };

async function ensureAlone(docker: Docker, name: string, instance: string, more: NetworkMore): Promise<void> {
  const found = await networksOf(docker, name);
  if (found.length === 1) return;
  if (found.length === 0) await makeNetwork(docker, name, instance, more);
  // Engines check for duplicates before they create a network, not atomically: two control planes may have created one
  // each, and a name that two networks share cannot be used.
  const [, ...younger] = await networksOf(docker, name);
  for (const { Id, Labels } of younger) {
    if (Labels?.[LABELS.instance] === instance) await removeNetwork(docker, Id);
  }
}

/** Networks of this name, the oldest first. */
async function networksOf(docker: Docker, name: string): Promise<readonly NetworkInspectInfo[]> {
  const found = await docker.listNetworks({ filters: { name: [name] } });
  const ageOf = ({ Created, Id }: NetworkInspectInfo) => `${Created} ${Id}`;
  // The engine's filter also matches parts of names.
  return found.filter(({ Name }) => Name === name).sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
}

async function makeNetwork(docker: Docker, name: string, instance: string, more: NetworkMore): Promise<void> {
  try {
    await docker.createNetwork({
      Driver: "bridge",
      ...more,
      Name: name,
      // Old engines would create a second network of the same name.
      CheckDuplicate: true,
      Labels: { ...more.Labels, ...ownedLabels(instance) },
    });
  } catch (cause) {
    // 409: another caller created it first.
    if (statusCodeOf(cause) !== 409) throw cause;
  }
}

/** Networks of this server alone with all of these labels. A manager lists those of its swarm too, which keeps them. */
export const ownNetworks = (docker: Docker, labels: Labels): Promise<NetworkInspectInfo[]> =>
  docker.listNetworks({ filters: { ...labelFilter(labels), scope: ["local"] } });

/** Removes networks of this server alone with all of these labels. Networks in use stay. */
export async function removeNetworks(docker: Docker, labels: Labels): Promise<void> {
  const found = await ownNetworks(docker, labels);
  for (const { Id } of found) await removeNetwork(docker, Id);
}

/** Removes a network unless it is in use. */
export async function removeNetwork(docker: Docker, id: string): Promise<void> {
  try {
    await docker.getNetwork(id).remove();
  } catch (cause) {
    // 404: removed by another caller. 403: a container joined it in the meantime.
    const code = statusCodeOf(cause);
    if (code !== 404 && code !== 403) throw cause;
  }
}
