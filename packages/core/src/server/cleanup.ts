import { z } from "zod";

/** An observed object on a server's engine. */
export interface SeenObject {
  readonly type: CleanupObjectType;
  /** Its id on the engine; for a volume, its name. */
  readonly id: string;
  /** Name for people; `null` for an image without a tag. */
  readonly name: string | null;
  /** From Berth's labels; `null` without them. */
  readonly instance: string | null;
  readonly resourceUuid: string | null;
  readonly deploymentUuid: string | null;
  /** A running container, an image or volume with a container, or a network with an endpoint. */
  readonly isInUse: boolean;
  readonly sizeBytes: number | null;
}

/** Records of the server. They must be read after the observation. */
export interface CleanupRecord {
  /** Identifier of this control plane. */
  readonly instance: string;
  /** Uuids of all resources on the server or with a release there, including those being removed. */
  readonly resources: ReadonlySet<string>;
  /** The observed uuids of resources that exist, on whichever server. */
  readonly existing: ReadonlySet<string>;
  /** The observed uuids that belong or belonged to a resource of this control plane. */
  readonly own: ReadonlySet<string>;
  /** Uuids of deployments that wait or run, that have a release, or whose build is kept. */
  readonly deployments: ReadonlySet<string>;
  /** Names of the networks of destinations and resources. */
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
    resource_uuid: z.string().nullable().describe("The resource it was created for."),
    size_bytes: z.int().nullable().describe("Its size as the engine reports it; parts may be shared."),
    reason: z.string().describe("Why it is no longer needed."),
  })
  .meta({ id: "CleanupOperation", description: "Something that a cleanup removes from a server." });
export type CleanupOperation = z.infer<typeof CleanupOperation>;

/**
 * Objects that may be removed from a server: never one that is in use, recorded, or created by anybody but this
 * control plane. Containers come first, since they use the other objects.
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
 * Pulled images have no labels of Berth, but a name with a resource's uuid. Labels of images, and of containers made
 * from them, can be set by their authors, so they count only for resources recorded here.
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
  // A stopped container of an existing resource may be needed again.
  container: ({ resourceUuid }, { resources }) =>
    resourceUuid === null || resources.has(resourceUuid) ? undefined : "Its resource was deleted.",
  image: ofDeployment,
  // A resource that was moved may have data here that nobody has copied yet.
  volume: ({ resourceUuid }, { existing }, { delete_unused_volumes }) => {
    const isKept = !delete_unused_volumes || resourceUuid === null || existing.has(resourceUuid);
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

/** Cleans up a server's engine. Both calls reject only with a `DomainError`. */
export interface ServerCleaner {
  /** Identifier of this control plane, as in the labels of everything it creates. */
  readonly instance: string;
  observe(): Promise<readonly SeenObject[]>;
  /** Keeps an object that is in use by now or has changed since the plan. Idempotent. */
  remove(operation: CleanupOperation): Promise<"removed" | "gone" | "stays">;
}

export const ServerCleanup = z.strictObject({
  dry_run: z.boolean().optional().describe("Only return what would be removed. Default false."),
});
export type ServerCleanup = z.infer<typeof ServerCleanup>;

export const CleanupStarted = z
  .object({
    message: z.string(),
    job_uuid: z.string().optional().describe("Identifier of the job; none with dry_run."),
    operations: z.array(CleanupOperation).optional().describe("With dry_run: what would be removed."),
  })
  .meta({ id: "CleanupStarted", description: "A cleanup of a server, begun or only planned." });
export type CleanupStarted = z.infer<typeof CleanupStarted>;
