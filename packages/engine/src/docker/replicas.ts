import type { ReleaseRef } from "@berth/core/deploy";
import { FILES_LABEL, LABELS } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerCreateOptions, ContainerInspectInfo } from "dockerode";
import { copyFiles } from "./files.ts";
import { replicaOptions } from "./replica-options.ts";
import { removeContainer } from "./start.ts";
import type { Seen, SeenContainer } from "./watch.ts";

export interface ScalePlace {
  readonly docker: Docker;
  /** The release's containers now. */
  readonly seen: Seen;
  /** Stops a container with its grace period. */
  stop(container: SeenContainer): Promise<void>;
}

/**
 * Adds or removes containers of a running release. New ones are copies of an existing one, so that settings changed
 * since its deployment wait for the next one. Those with the highest numbers are removed. Idempotent.
 */
export async function scaleRelease({ docker, seen, stop }: ScalePlace, ref: ReleaseRef, replicas: number) {
  const [first] = seen.containers;
  const numbers = new Set(seen.containers.map(({ container }) => container.number));
  const info = first?.info ?? seen.info;
  if (first === undefined) numbers.add(1);
  const missing = Array.from({ length: replicas }, (_, index) => index + 1).filter((number) => !numbers.has(number));
  for (const number of missing.slice(0, Math.max(0, replicas - numbers.size))) await addCopy(docker, info, ref, number);
  const surplus = seen.containers.slice(replicas);
  await Promise.all(surplus.map(stop));
  for (const { id } of surplus) await removeContainer(docker.getContainer(id));
}

async function addCopy(docker: Docker, info: ContainerInspectInfo, ref: ReleaseRef, number: number): Promise<void> {
  const container = await docker.createContainer(replicaOptions(copyOf(info), ref, number));
  try {
    const files = info.Config.Labels[FILES_LABEL];
    if (files) await copyFiles(docker.getContainer(info.Id), container, files.split("\n"));
    await container.start();
  } catch (cause) {
    await removeContainer(container).catch(() => undefined);
    throw cause;
  }
}

/** Options that make the same container again. */
function copyOf({ Id, Config, HostConfig, NetworkSettings }: ContainerInspectInfo): ContainerCreateOptions {
  // The engine makes both of its id where nobody chose them.
  const own = Id.slice(0, 12);
  const { Hostname, Labels, ...config } = Config;
  const { NetworkMode = "" } = HostConfig;
  const aliases = NetworkSettings.Networks[NetworkMode]?.Aliases as readonly string[] | null | undefined;
  return {
    ...config,
    ...(Hostname === own ? {} : { Hostname }),
    Labels: { ...Labels, [LABELS.container]: "", [LABELS.order]: "" },
    HostConfig,
    NetworkingConfig: {
      EndpointsConfig: { [NetworkMode]: { Aliases: (aliases ?? []).filter((alias) => alias !== own) } },
    },
  };
}
