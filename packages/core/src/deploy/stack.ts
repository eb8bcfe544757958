import type { StorageMount } from "./storage-mount.ts";

// A stack is one release of several containers, described by a compose file.

/**
 * Result of building a compose file: plain JSON, and complete, since the source folder is removed before it may be
 * started again. Contains secrets.
 */
export interface StackArtifact {
  readonly type: "stack";
  /** The compose file without builds and without references to other files. References to variables are kept. */
  readonly compose: string;
  /** Values from env files of the source, for references to variables that the resource does not have. Secrets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** By container name, and under a name that no container has: the image with large files of the source. */
  readonly images: Readonly<Record<string, StackImage>>;
  /** Files of the source that are mounted into containers. */
  readonly files: readonly StackFile[];
}

export interface StackImage {
  /** The name of the image on the server, unique to the deployment. */
  readonly image: string;
  /** `sha256:...` of the image itself. */
  readonly id?: string;
  /** `name@sha256:...` of a pulled image; `null` for one that was built. */
  readonly digest?: string | null;
}

export interface StackFile {
  readonly container: string;
  readonly mountPath: string;
  /** In base64, since files may be binary. `null`: the file is in the image of the source. */
  readonly content: string | null;
  /** File permissions. */
  readonly mode: number;
}

/** Start options of a stack, in addition to its artifact. */
export interface StackOptions {
  /** Values of `${NAME}` in the compose file, byte for byte. Secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** By container name; a container without an entry is started as the compose file says. */
  readonly containers: Readonly<Record<string, StackContainer>>;
  /** Networks of the server that every container joins in addition to those of the stack. */
  readonly networks: readonly string[];
  readonly replaces?: StackPredecessor;
  /** Number of containers of each service, overrides the compose file. */
  readonly scale?: Readonly<Record<string, number>>;
  /** Recreate all containers, even unchanged ones. */
  readonly isRecreated?: boolean;
  /** Prefix of its own networks. Default: the resource's uuid; a preview has networks of its own. */
  readonly scope?: string;
}

/** The release that a stack replaces, if it still exists. */
export interface StackPredecessor {
  readonly deploymentUuid: string;
  /** Which of its containers continue in the new release: unchanged ones, or none. */
  readonly keeps: "unchanged" | "none";
  /** If nothing has changed, all containers are recreated, since the deployment is a restart. */
  readonly isRestart: boolean;
}

/** What Berth adds to one container of a stack. */
export interface StackContainer {
  /** Overrides variables of the compose file, byte for byte. Secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The first port takes requests; empty: none does. */
  readonly ports: readonly number[];
  /**
   * Replaces mounts of the compose file at the same path. Volumes are named by `uuid`, so containers that share one
   * have the same `uuid`.
   */
  readonly storages: readonly StorageMount[];
  /** Additional names by which other containers of its networks reach it. */
  readonly networkAliases: readonly string[];
}
