import { DomainError, isDomainError } from "@berth/core";
import type { ApplicationRecord, GitCredentials, GitHost, SystemStores } from "@berth/core/ports";
import { appOrigins, basicCredentials, credentialsFor, githubLogin, loginOrigin } from "@berth/core/source";

type Credentials = (application: ApplicationRecord) => Promise<GitCredentials | undefined>;

/** Credentials for an application's repository, of any kind. */
export function gitCredentials(
  stores: Pick<SystemStores, "forTeam">,
  gitHost: Pick<GitHost, "readToken">,
): Credentials {
  const [ofApp, ofKey] = [githubCredentials(stores, gitHost), keyCredentials(stores)];
  return (application) => (application.github_app === null ? ofKey(application) : ofApp(application));
}

/** Credentials of an application with a private key, read when they are needed. */
export const keyCredentials =
  (stores: Pick<SystemStores, "forTeam">): Credentials =>
  async ({ team_id, private_key_id, settings }) => {
    if (private_key_id === null) return undefined;
    const { privateKeys } = stores.forTeam(team_id);
    const key = await privateKeys.findById(private_key_id);
    if (key === undefined) return undefined;
    const origin = loginOrigin(settings.git_repository, key);
    const secrets =
      origin === undefined
        ? await privateKeys.secrets(key.id)
        : await privateKeys.secretsFor(key.id, "login", [origin]);
    return credentialsFor(settings.git_repository, key, secrets);
  };

/** A token of the GitHub app for this repository alone, created for this fetch. */
const githubCredentials =
  (stores: Pick<SystemStores, "forTeam">, gitHost: Pick<GitHost, "readToken">): Credentials =>
  async ({ team_id, github_app }) => {
    if (github_app === null) return undefined;
    const { githubApps, privateKeys } = stores.forTeam(team_id);
    const app = await githubApps.find(github_app.id);
    if (app === undefined) return undefined;
    const login = githubLogin(app, await privateKeys.secretsFor(app.private_key_id, "app", appOrigins(app)));
    try {
      const password = await gitHost.readToken(login, github_app.repository_id);
      return basicCredentials([app.html_url], { username: "x-access-token", password });
    } catch (cause) {
      if (!isDomainError(cause, "git_host.refused")) throw cause;
      // The deployment's log shows only the message, so it includes the reason.
      throw new DomainError("source.unauthorized", `${cause.message} ${cause.details?.reason ?? ""}`.trim(), { cause });
    }
  };
