import { DomainError } from "@berth/core";
import type { FileMount, ReleaseRef } from "@berth/core/deploy";
import { LABELS, statusCodeOf } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerCreateOptions, ContainerInspectInfo } from "dockerode";
import { putFiles } from "./files.ts";
import { replicaOptions } from "./replica-options.ts";
import { explain, removeContainer } from "./start.ts";
import type { Seen, SeenContainer } from "./watch.ts";

export interface ScalePlace {
  readonly docker: Docker;
  /** The release's containers now. */
  readonly seen: Seen;
  /** Mounted files of new containers. They are not read from a container, which may hold anything at their paths. */
  readonly files: readonly FileMount[];
  /** Stops a container with its grace period. */
  stop(container: SeenContainer): Promise<void>;
}

/**
 * Adds or removes containers of a running release. New ones are copies of an existing one, so that settings changed
 * since its deployment wait for the next one. Those with the highest numbers are removed. Idempotent.
 */
export async function scaleRelease(place: ScalePlace, ref: ReleaseRef, replicas: number): Promise<void> {
  const { docker, seen, stop } = place;
  // A container that was never started is left over from an attempt that broke off, and may lack its files.
  const [unfinished, whole] = partition(seen.containers, ({ info }) => info.State.Status === "created");
  for (const { id } of unfinished) await removeContainer(docker.getContainer(id));
  const numbers = new Set(seen.containers.length === 0 ? [1] : whole.map(({ container }) => container.number));
  const info = whole[0]?.info ?? seen.info;
  const missing = Array.from({ length: replicas }, (_, index) => index + 1).filter((number) => !numbers.has(number));
  for (const number of missing.slice(0, Math.max(0, replicas - numbers.size))) await addCopy(place, info, ref, number);
  const surplus = whole.slice(replicas);
  await Promise.all(surplus.map(stop));
  for (const { id } of surplus) await removeContainer(docker.getContainer(id));
}

async function addCopy(
  { docker, files }: ScalePlace,
  info: ContainerInspectInfo,
  ref: ReleaseRef,
  number: number,
): Promise<void> {
  let container: Docker.Container | undefined;
  try {
    container = await docker.createContainer(replicaOptions(copyOf(info), ref, number));
    await putFiles(container, files, info.Config.User);
    await container.start();
  } catch (cause) {
    if (container !== undefined) await removeContainer(container).catch(() => undefined);
    if (!(cause instanceof Error) || statusCodeOf(cause) === undefined) throw cause;
    const sentence = `Container ${number} of the application could not be started: ${explain(cause)}`;
    throw new DomainError("deploy.start_failed", sentence, { cause });
  }
}

const partition = <T>(all: readonly T[], is: (one: T) => boolean): readonly [readonly T[], readonly T[]] => [
  all.filter(is),
  all.filter((one) => !is(one)),
];

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
