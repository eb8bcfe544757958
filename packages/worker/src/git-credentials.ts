import { type ApplicationRecord, credentialsFor, type GitCredentials, type SystemStores } from "@berth/core";

/** What the repository of an application is read with when it has a key: what the key says at this moment. */
export const keyCredentials =
  (stores: Pick<SystemStores, "forTeam">) =>
  async ({ team_id, private_key_id, settings }: ApplicationRecord): Promise<GitCredentials | undefined> => {
    if (private_key_id === null) return undefined;
    const { privateKeys } = stores.forTeam(team_id);
    const key = await privateKeys.findById(private_key_id);
    if (key === undefined) return undefined;
    return credentialsFor(settings.git_repository, key, await privateKeys.secrets(key.id));
  };
