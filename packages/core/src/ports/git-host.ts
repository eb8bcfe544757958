import type { OriginCredential } from "../origin-credential.ts";
import type { HostedBranch, HostedRepository, RepositoryName } from "../source/hosted-repository.ts";

/** How an app signs in at a git host: it proves who it is with its key, and acts through one of its installations. */
export interface GitHostLogin {
  /** URL of the REST API without a trailing slash, such as `https://api.github.com`. */
  readonly apiUrl: string;
  readonly appId: number;
  readonly installationId: number;
  /** RSA, as PEM. For the API and the site of the app. */
  readonly privateKey: OriginCredential<string>;
}

/**
 * The REST API of a git host. Every function throws DomainError `git_host.refused` when the host takes neither app nor
 * key, `git_host.not_found`, `git_host.failed` when there is no useful answer, and `rate.limited` with how long to wait.
 */
export interface GitHost {
  /** All that the installation sees, at most `LISTED_MAX`. */
  repositories(login: GitHostLogin): Promise<readonly HostedRepository[]>;
  /** By its name, also an earlier one: the answer has the one it has now. */
  repository(login: GitHostLogin, name: RepositoryName): Promise<HostedRepository>;
  /** At most `LISTED_MAX`. */
  branches(login: GitHostLogin, name: RepositoryName): Promise<readonly HostedBranch[]>;
  /** A token that may read this repository and nothing else, for an hour. */
  readToken(login: GitHostLogin, repositoryId: number): Promise<string>;
  /** `false` for a URL whose very address is a private one that is not allowed; names are looked up when called. */
  mayCall(url: string): boolean;
}
