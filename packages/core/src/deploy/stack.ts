import type { StorageMount } from "./storage-mount.ts";

// A stack is one release of several containers: what a compose text describes.

/**
 * What a compose text came to: plain JSON like every artifact, and complete, since the folder that it was read from is
 * gone when it is started again. Holds secrets.
 */
export interface StackArtifact {
  readonly type: "stack";
  /** Without what is built and without other files. Its references to variables are still there. */
  readonly compose: string;
  /** Values from env files of the source, for references that the resource has no variable for. Secrets. */
  readonly variables?: Readonly<Record<string, string>>;
  /** By the container's name, and under a name that no container has: what holds large files of the source. */
  readonly images: Readonly<Record<string, StackImage>>;
  /** Files of the source that are mounted into containers. */
  readonly files: readonly StackFile[];
}

export interface StackImage {
  /** The name under which it lies on the server, which no other deployment shares. */
  readonly image: string;
  /** `sha256:...` of the image itself. */
  readonly id?: string;
  /** `name@sha256:...` of one that was pulled; `null` for one that was built. */
  readonly digest?: string | null;
}

export interface StackFile {
  readonly container: string;
  readonly mountPath: string;
  /** In base64: not every file is text. `null`: it lies in the image of the source. */
  readonly content: string | null;
  /** Its permissions. */
  readonly mode: number;
}

/** Options of a stack's start, besides its artifact. */
export interface StackOptions {
  /** Values of `${NAME}` in the compose file, byte for byte. Secrets. */
  readonly variables: Readonly<Record<string, string>>;
  /** By the container's name; one that is missing gets what the compose text says, and nothing else. */
  readonly containers: Readonly<Record<string, StackContainer>>;
  /** Networks of the server that every container joins beside those of the stack itself. */
  readonly networks: readonly string[];
  readonly replaces?: StackPredecessor;
  /** How many containers of each service, in the place of what the text says. */
  readonly scale?: Readonly<Record<string, number>>;
  /** Every container is made anew, whether anything of it has changed or not. */
  readonly isRecreated?: boolean;
  /** Names its own networks. Default: the resource's uuid; a preview has others than its application. */
  readonly scope?: string;
}

/** The release that a stack takes the place of, as long as it is there. */
export interface StackPredecessor {
  readonly deploymentUuid: string;
  /** Which of its containers continue in the new release: those that would be made again just as they are, or none. */
  readonly keeps: "unchanged" | "none";
  /** Where nothing at all has changed, all are made anew: somebody asked for a restart. */
  readonly isRestart: boolean;
}

/** Additions of Berth to one container of a stack. */
export interface StackContainer {
  /** Byte for byte; goes before what the text says of the same variables. Secrets. */
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** The first is the one that takes requests; none where nothing does. */
  readonly ports: readonly number[];
  /**
   * What the text mounts at the same path is this. A volume is named by its `uuid` as everywhere: two containers that
   * share one have it under the same uuid.
   */
  readonly storages: readonly StorageMount[];
  /** Names under which the other containers of its networks find it, beside its own. */
  readonly networkAliases: readonly string[];
}
