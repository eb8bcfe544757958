import type { OriginCredential } from "../origin-credential.ts";
import type { WorkIO } from "./work-io.ts";

/** Source of an application's code. */
export type SourceSpec =
  | {
      readonly type: "git";
      /** https, http, ssh, git or file URL, or `git@host:path`. `file:` only for the local server. */
      readonly repository: string;
      readonly branch: string;
      /** A full or short sha, a tag, or `HEAD` for the branch's tip. */
      readonly commit: string;
      readonly credentials?: GitCredentials | undefined;
      /** Identifies the team and its credential. Code fetched with one is never given to another. */
      readonly cacheOwner: string;
    }
  | {
      readonly type: "upload";
      readonly resourceUuid: string;
      /** SHA-256 of an uploaded archive, or `HEAD` for the newest. */
      readonly commit: string;
    }
  /** Nothing to fetch: a stored Dockerfile or an image. */
  | { readonly type: "none" };

export type GitCredentials =
  | { readonly type: "ssh"; readonly privateKey: string }
  | { readonly type: "basic"; readonly login: OriginCredential<BasicLogin> };

export interface BasicLogin {
  readonly username: string;
  readonly password: string;
}

export interface Checkout {
  /** Absolute folder with the files of the commit, without git's own. */
  readonly folder: string;
  /** Full sha of the commit, or SHA-256 of the upload. */
  readonly commit: string;
  /** First line of the commit message. */
  readonly message: string | null;
}

/** Fetches source code onto the control plane's machine. It never executes anything of a repository. */
export interface SourceFetcher {
  /**
   * Idempotent for a deployment: replaces an earlier checkout of it.
   * @throws DomainError `source.not_found`, `source.unauthorized`, `source.unreachable`, `source.invalid`
   */
  checkout(spec: SourceSpec, deploymentUuid: string, io: WorkIO): Promise<Checkout>;
  /**
   * Asks a repository that needs no credential for its default branch.
   * @returns Its name, such as `main`
   * @throws DomainError as `checkout`
   */
  defaultBranch(repository: string, signal: AbortSignal): Promise<string>;
  /** Idempotent. */
  removeCheckout(deploymentUuid: string): Promise<void>;
  /**
   * Stores an uploaded tar (gzip or plain). Every entry is checked: no path or link may leave its folder.
   * @throws DomainError `source.invalid`, `request.too_large`
   */
  saveUpload(
    resourceUuid: string,
    archive: AsyncIterable<Uint8Array>,
  ): Promise<{ readonly commit: string; readonly sizeBytes: number }>;
  /** Idempotent. Removes uploads; mirrors of repositories are shared within the team and stay. */
  removeResource(resourceUuid: string): Promise<void>;
}
