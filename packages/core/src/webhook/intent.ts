/** The repository of a delivery. */
export interface PushedRepository {
  /** Its number at the host. */
  readonly id: number | null;
  /** In the host's notation: `owner/name`. */
  readonly name: string;
  /** Keys by which its applications are found. @see repositoryKey */
  readonly keys: readonly string[];
  readonly defaultBranch: string | null;
}

export interface Push {
  readonly type: "push";
  readonly branch: string;
  readonly commit: string;
  /**
   * Paths that were added, changed or removed; `undefined` if the host lists only some of them, or there are too
   * many.
   */
  readonly files: readonly string[] | undefined;
  /** Every commit's message contains `[skip ci]` or `[skip cd]`; `false` if the host lists only some of the commits. */
  readonly isSkipRequested: boolean;
}

export interface PullRequestChange {
  readonly type: "pull_request";
  /** `update` may also mean just a new title. */
  readonly action: "open" | "update" | "close";
  readonly number: number;
  /** The target branch. */
  readonly base: string;
  /** Newest commit of the pull request. */
  readonly commit: string;
  /** Its author's code is accepted by the repository anyway. */
  readonly isTrusted: boolean;
  readonly url: string | null;
}

export type WebhookIntent = Push | PullRequestChange;

/** @param messages `undefined`: some are missing. */
export const requestsSkip = (messages: readonly string[] | undefined): boolean =>
  messages !== undefined && messages.length > 0 && messages.every((message) => /\[skip c[id]\]/i.test(message));

/** Without duplicates. `undefined` for very many, which are deployed without comparing paths. */
export function touchedFiles(paths: readonly string[]): readonly string[] | undefined {
  const files = new Set(paths);
  return files.size > FILES_MAX ? undefined : [...files];
}

const FILES_MAX = 50_000;

/**
 * The key that connects a host's repository with an application: the path of its address in lower case, without
 * surrounding slashes and `.git`. The table `application` has a column that is computed by the same rule.
 */
export const repositoryKey = (address: string): string =>
  address
    .replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*|^[^/@:]+@[^/:]+:/i, "")
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .toLowerCase();
