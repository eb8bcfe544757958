/** The repository that a delivery is about. */
export interface PushedRepository {
  /** Its number at the host. */
  readonly id: number | null;
  /** As the host writes it: `owner/name`. */
  readonly name: string;
  /** Keys by which its applications are found. @see repositoryKey */
  readonly keys: readonly string[];
  readonly defaultBranch: string | null;
}

export interface Push {
  readonly type: "push";
  readonly branch: string;
  readonly commit: string;
  /** Paths that were added, changed or removed; `undefined` when the host does not tell all of them, or too many. */
  readonly files: readonly string[] | undefined;
  /** Every commit's message says `[skip ci]` or `[skip cd]`; `false` when the host does not send all of them. */
  readonly isSkipRequested: boolean;
}

export interface PullRequestChange {
  readonly type: "pull_request";
  /** `update` may also be a new title only. */
  readonly action: "open" | "update" | "close";
  readonly number: number;
  /** The branch it shall go into. */
  readonly base: string;
  /** Newest commit of it. */
  readonly commit: string;
  /** It comes from someone whose code the repository takes anyway. */
  readonly isTrusted: boolean;
  readonly url: string | null;
}

export type WebhookIntent = Push | PullRequestChange;

/** @param messages `undefined`: not all of them are known. */
export const requestsSkip = (messages: readonly string[] | undefined): boolean =>
  messages !== undefined && messages.length > 0 && messages.every((message) => /\[skip c[id]\]/i.test(message));

/** Each path once. Nobody goes through more: what touches as many is rather deployed. */
export function touchedFiles(paths: readonly string[]): readonly string[] | undefined {
  const files = new Set(paths);
  return files.size > FILES_MAX ? undefined : [...files];
}

const FILES_MAX = 50_000;

/**
 * How an application's repository is found by what a host calls it: the path of its address in lower case, without
 * slashes around it and `.git` behind it. The table `application` has it as a column, made by the same rule.
 */
export const repositoryKey = (address: string): string =>
  address
    .replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*|^[^/@:]+@[^/:]+:/i, "")
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .toLowerCase();
