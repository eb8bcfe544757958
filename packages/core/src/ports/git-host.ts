import type { OriginCredential } from "../origin-credential.ts";
import type { HostedBranch, HostedRepository, RepositoryName } from "../source/hosted-repository.ts";

/** How an app authenticates at a git host: it signs with its key, and acts through one of its installations. */
export interface GitHostLogin {
  /** URL of the REST API without a trailing slash, such as `https://api.github.com`. */
  readonly apiUrl: string;
  readonly appId: number;
  readonly installationId: number;
  /** RSA key in PEM, for the API and the site of the app. */
  readonly privateKey: OriginCredential<string>;
}

/**
 * The REST API of a git host. Every function throws DomainError `git_host.refused` if the host rejects the app or
 * key, `git_host.not_found`, `git_host.failed` without a useful answer, and `rate.limited` with the time to wait.
 */
export interface GitHost {
  /** All repositories of the installation, at most `LISTED_MAX`. */
  repositories(login: GitHostLogin): Promise<readonly HostedRepository[]>;
  /** Finds a repository by its current or an earlier name; the answer has the current one. */
  repository(login: GitHostLogin, name: RepositoryName): Promise<HostedRepository>;
  /** At most `LISTED_MAX`. */
  branches(login: GitHostLogin, name: RepositoryName): Promise<readonly HostedBranch[]>;
  /** A token for reading this repository only, valid for an hour. */
  readToken(login: GitHostLogin, repositoryId: number): Promise<string>;
  /** `false` for a URL with a private IP address that is not allowed; host names are resolved when they are called. */
  mayCall(url: string): boolean;
}
