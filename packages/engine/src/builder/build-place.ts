import type { BuildRequest, FolderArtifact } from "@berth/core/deploy";
import type { WorkIO } from "@berth/core/ports";
import type { HostUser, Sandbox } from "@berth/host";

/** Turns a checkout into a folder that can be run, without containers. */
export interface ProcessBuilder {
  /**
   * Fills `where.releaseFolder`, which exists and is empty. Aborting ends everything it spawned before it rejects.
   * @throws DomainError `deploy.build_failed`, `deploy.cancelled`
   */
  build(request: BuildRequest, io: WorkIO, where: BuildPlace): Promise<FolderArtifact>;
}

/** Folders and user of one build. The folders belong to `user`. */
export interface BuildPlace {
  /** Folder of the resource, shared by its releases. */
  readonly resourceFolder: string;
  /** Folder of the artifact, filled by the build. */
  readonly releaseFolder: string;
  /** Kept between builds, emptied for a forced one. */
  readonly cacheFolder: string;
  /** HOME of what the build spawns. */
  readonly home: string;
  /** TMPDIR of what the build spawns. */
  readonly temporaryFolder: string;
  /** PATH of what the build spawns: node, npm, pnpm, yarn first, then the system's own programs. */
  readonly path: string;
  /** User that the build runs as; `undefined` when Berth is not root: it then runs as Berth's own user. */
  readonly user: HostUser | undefined;
  /** Keeps what the build spawns apart from other applications; only with a user. */
  readonly sandbox?: Sandbox | undefined;
  /** Every process of the build joins this group before it does anything else. */
  readonly group?: BuildGroup;
}

/** Limits the processes of a build, and finds those that it left running. */
export interface BuildGroup {
  /** A process whose id is written to all of these joins the group, with all that it starts from then on. */
  readonly cgroupFiles: readonly string[];
  /** Living processes of the group; `undefined` where the machine cannot group processes. */
  members(): readonly number[] | undefined;
}

/** Folder, user and limits of a program that reads an untrusted source on Berth's own machine. */
export interface Workplace extends Pick<BuildPlace, "home" | "temporaryFolder" | "user" | "sandbox" | "group"> {
  /** Real path for the source, which does not exist yet. Its parent belongs to us. */
  readonly source: string;
  /** Real path of an empty folder that the user may write to. */
  readonly output: string;
}

/**
 * Runs `work` in a new workplace, which is as isolated as the build steps of the resource's processes. Afterwards its
 * processes are ended and its folder is removed.
 * @param visible Further folders that the program must see.
 */
export type InWorkplace = <Result>(
  request: BuildRequest,
  visible: readonly string[],
  work: (place: Workplace) => Promise<Result>,
) => Promise<Result>;

export interface ProcessBuilderOptions {
  /** Longest duration of one step. Default 3,600. */
  readonly stepSecondsMax?: number;
  /** Proxy variables of this machine, e.g. HTTPS_PROXY. An application's own variables win. */
  readonly networkEnv?: Readonly<Record<string, string>>;
}
