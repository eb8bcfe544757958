import { recordOf } from "@berth/core/compose";
import type { WorkIO } from "@berth/core/ports";
import { FILES_ROLE, LABELS, labelOf, releaseFilter } from "@berth/docker-client";
import type Docker from "dockerode";
import type { ContainerInspectInfo } from "dockerode";
import type { StackDocument } from "../docker/compose/document.ts";
import { type StackSpec, stackContainerName } from "../docker/compose/spec.ts";
import type { ComposeTool } from "../docker/compose/tool.ts";
import { removeFilesContainers } from "./images.ts";

interface DraftPlace {
  /** Client of the manager, which has the images. */
  readonly docker: Docker;
  readonly instance: string;
  readonly tool: ComposeTool;
}

/**
 * The containers of a document as the compose tool makes them, so that a cluster understands every form of a value as
 * a server does. They are made on the manager without mounts and networks, never started, and removed again.
 * @returns By name in the compose file.
 */
export async function draftStack(
  { docker, instance, tool }: DraftPlace,
  spec: StackSpec,
  document: StackDocument,
  io: WorkIO,
): Promise<ReadonlyMap<string, ContainerInspectInfo>> {
  await removeFilesContainers(docker, instance, spec);
  try {
    const options = { isCreateOnly: true, keepsExisting: false };
    await tool.up(spec.deploymentUuid, draftDocument(spec, document), options, { ...io, onLine: () => {} });
    const filters = { ...releaseFilter(instance, spec, FILES_ROLE) };
    const made = await docker.listContainers({ all: true, filters });
    const infos = await Promise.all(made.map(({ Id }) => docker.getContainer(Id).inspect()));
    return new Map(infos.map((info) => [labelOf(info.Config.Labels, LABELS.container) ?? "", info]));
  } finally {
    await removeFilesContainers(docker, instance, spec);
  }
}

/** One container of each service that starts any. Pure. */
export function draftDocument(spec: StackSpec, document: StackDocument): StackDocument {
  const services = Object.entries(document.services).flatMap(([name, service]) => {
    const { networks: _n, volumes: _v, ports: _p, links: _l, scale, deploy, labels, depends_on: _d, ...rest } = service;
    if (Number(scale ?? 1) === 0) return [];
    const { resources, restart_policy } = recordOf(deploy);
    const { reservations: _r, ...limits } = recordOf(resources);
    const reserved = recordOf(recordOf(resources).reservations).memory;
    const drafted = {
      ...rest,
      network_mode: "none",
      container_name: stackContainerName(name, spec),
      labels: { ...recordOf(labels), [LABELS.role]: FILES_ROLE },
      deploy: {
        resources: { ...limits, ...(reserved == null ? {} : { reservations: { memory: reserved } }) },
        ...(restart_policy == null ? {} : { restart_policy }),
      },
    };
    return [[name, drafted] as const];
  });
  return { ...document, services: Object.fromEntries(services), networks: {}, volumes: {} };
}
