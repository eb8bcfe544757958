import { containerName, REPLICA, type ReleaseRef } from "@berth/core/deploy";
import { COMPOSE_NUMBER, LABELS } from "@berth/docker-client";
import type { ContainerCreateOptions } from "dockerode";

/** Labels of the containers of an image that may have several. */
export const REPLICA_LABELS = { [LABELS.container]: REPLICA, [COMPOSE_NUMBER]: "" };

/** The container of a release with this number: the first one is named as if it were the only one. */
export function replicaOptions(options: ContainerCreateOptions, ref: ReleaseRef, number: number) {
  const name = containerName(ref.resourceUuid, ref.deploymentUuid);
  if (number === 1) return { ...options, name };
  const labels = { ...REPLICA_LABELS, [LABELS.order]: String(number) };
  return { ...options, name: `${number}-${name}`, Labels: { ...options.Labels, ...labels } };
}
