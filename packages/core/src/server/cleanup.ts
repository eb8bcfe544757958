import { z } from "zod";

/** Something that lies on a server's engine, as it was seen. */
export interface SeenObject {
  readonly type: CleanupObjectType;
  /** By which the engine knows it; of a volume, its name. */
  readonly id: string;
  /** For people; of an image `null` when no name leads to it any more. */
  readonly name: string | null;
  /** Labels that Berth gives; `null` for what has none. */
  readonly instance: string | null;
  readonly resourceUuid: string | null;
  readonly deploymentUuid: string | null;
  /** A container runs, an image or volume has a container, a network has an endpoint. */
  readonly isInUse: boolean;
  readonly sizeBytes: number | null;
}

/** Records of the server. They must be read after the observation. */
export interface CleanupRecord {
  /** Identifier of this control plane. */
  readonly instance: string;
  /** Uuids of every resource on the server, also of those that are being removed. */
  readonly resources: ReadonlySet<string>;
  /** The observed uuids that belong or belonged to a resource of this control plane. */
  readonly own: ReadonlySet<string>;
  /** Uuids of deployments that wait or run, that have a release, or that built one which is kept. */
  readonly deployments: ReadonlySet<string>;
  /** Names of the networks that destinations and resources join. */
  readonly networks: ReadonlySet<string>;
}

export interface CleanupSettings {
  readonly delete_unused_volumes: boolean;
  readonly delete_unused_networks: boolean;
}

export const CLEANUP_OBJECT_TYPES = ["container", "image", "volume", "network"] as const;
export type CleanupObjectType = (typeof CLEANUP_OBJECT_TYPES)[number];

export const CleanupOperation = z
  .object({
    type: z.enum(CLEANUP_OBJECT_TYPES).describe("What is removed."),
    id: z.string(),
    name: z.string().nullable(),
    resource_uuid: z.string().nullable().describe("What it was made for."),
    size_bytes: z.int().nullable().describe("What it takes up, as the engine says; parts may be shared."),
    reason: z.string().describe("Why it is no longer needed."),
  })
  .meta({ id: "CleanupOperation", description: "Something that a cleanup removes from a server." });
export type CleanupOperation = z.infer<typeof CleanupOperation>;

/**
 * What may go from a server. Nothing that is in use, that is recorded, or that another than this control plane has
 * made is ever among it. Containers come first, since they hold the rest.
 */
export function planCleanup(
  seen: readonly SeenObject[],
  recorded: CleanupRecord,
  settings: CleanupSettings,
): readonly CleanupOperation[] {
  return CLEANUP_OBJECT_TYPES.flatMap((type) =>
    seen
      .filter((object) => object.type === type && isOwn(object, recorded) && !object.isInUse)
      .flatMap((object) => {
        const reason = REASONS[type](object, recorded, settings);
        return reason === undefined ? [] : [operationOf(object, reason)];
      }),
  );
}

/**
 * A pulled image has no labels of ours: it bears the name of a resource. Labels of images, and of the containers that
 * are made from them, are whatever their makers wrote: they count for resources that were recorded here, and no others.
 */
function isOwn({ type, instance, resourceUuid }: SeenObject, recorded: CleanupRecord): boolean {
  if (type === "volume" || type === "network") return instance === recorded.instance;
  const isOurs = instance === recorded.instance || (instance === null && type === "image");
  return isOurs && resourceUuid !== null && recorded.own.has(resourceUuid);
}

type Reason = (object: SeenObject, recorded: CleanupRecord, settings: CleanupSettings) => string | undefined;

const ofDeployment: Reason = ({ deploymentUuid }, { deployments }) =>
  deploymentUuid === null || deployments.has(deploymentUuid) ? undefined : "No deployment uses it.";

const REASONS: Readonly<Record<CleanupObjectType, Reason>> = {
  // A stopped one of a resource that is there may be wanted again.
  container: ({ resourceUuid }, { resources }) =>
    resourceUuid === null || resources.has(resourceUuid) ? undefined : "Its resource was deleted.",
  image: ofDeployment,
  volume: ({ resourceUuid }, { resources }, { delete_unused_volumes }) => {
    const isKept = !delete_unused_volumes || resourceUuid === null || resources.has(resourceUuid);
    return isKept ? undefined : "Its resource was deleted, and delete_unused_volumes is set.";
  },
  network: ({ resourceUuid, name }, { resources, networks }, { delete_unused_networks }) => {
    const isRecorded = (resourceUuid !== null && resources.has(resourceUuid)) || name === null || networks.has(name);
    return !delete_unused_networks || isRecorded ? undefined : "Nothing joins it, and delete_unused_networks is set.";
  },
};

const operationOf = ({ type, id, name, resourceUuid, sizeBytes }: SeenObject, reason: string): CleanupOperation => ({
  type,
  id,
  name,
  resource_uuid: resourceUuid,
  size_bytes: sizeBytes,
  reason,
});

/** Whether a scheduled cleanup is needed: always with `force_docker_cleanup`, else on a full disk. */
export function isCleanupNeeded(
  settings: { readonly force_docker_cleanup: boolean; readonly docker_cleanup_threshold: number },
  disk: { readonly totalBytes: number; readonly freeBytes: number } | undefined,
): boolean {
  if (settings.force_docker_cleanup || disk === undefined || disk.totalBytes === 0)
    return settings.force_docker_cleanup;
  return (1 - disk.freeBytes / disk.totalBytes) * 100 >= settings.docker_cleanup_threshold;
}

/** Looks after what lies on a server's engine. Both reject only with a `DomainError`. */
export interface ServerCleaner {
  /** Identifier of this control plane, as in the labels of everything it creates. */
  readonly instance: string;
  observe(): Promise<readonly SeenObject[]>;
  /** Keeps what is in use meanwhile or has changed since the plan. Idempotent. */
  remove(operation: CleanupOperation): Promise<"removed" | "gone" | "stays">;
}

export const ServerCleanup = z.strictObject({
  dry_run: z.boolean().optional().describe("Answer what would be removed, and remove nothing. Default false."),
});
export type ServerCleanup = z.infer<typeof ServerCleanup>;

export const CleanupStarted = z
  .object({
    message: z.string(),
    job_uuid: z.string().optional().describe("Names the work; none with dry_run."),
    operations: z.array(CleanupOperation).optional().describe("With dry_run: what would be removed."),
  })
  .meta({ id: "CleanupStarted", description: "A cleanup of a server, begun or only planned." });
export type CleanupStarted = z.infer<typeof CleanupStarted>;
