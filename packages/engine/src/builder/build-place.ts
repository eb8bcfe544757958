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

/** Where a build works and as whom. The folders belong to `user`. */
export interface BuildPlace {
  /** Folder of the resource, shared by its releases. */
  readonly resourceFolder: string;
  /** The artifact's `folder`. */
  readonly releaseFolder: string;
  /** Kept between builds, emptied for a forced one. */
  readonly cacheFolder: string;
  /** HOME of what the build spawns. */
  readonly home: string;
  /** TMPDIR of what the build spawns. */
  readonly temporaryFolder: string;
  /** PATH of what the build spawns: node, npm, pnpm, yarn first, then the system's own programs. */
  readonly path: string;
  /** `undefined`: the build runs as we do, because we are not root. */
  readonly user: HostUser | undefined;
  /** Keeps what the build spawns apart from other applications; only with a user. */
  readonly sandbox?: Sandbox | undefined;
  /** Everything that the build spawns has to join it before it does anything else. */
  readonly group?: BuildGroup;
}

/** Limits a build, and finds what it left running wherever that went. */
export interface BuildGroup {
  /** Takes in a process with what it starts from now on. */
  join(pid: number): void;
  /** Living processes; none where the machine has no such groups. */
  members(): readonly number[];
}
