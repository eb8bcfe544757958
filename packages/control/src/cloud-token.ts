import { DomainError, isDomainError, notFound, originOf } from "@berth/core";
import type { CloudTokenRecord, Page, Paging, Stores } from "@berth/core/ports";
import {
  CLOUD_PROVIDERS,
  type CloudToken,
  type CloudTokenCreate,
  type CloudTokenUpdate,
  type CloudTokenValidity,
  cloudTokenView,
} from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import { cloudCall } from "./cloud-call.ts";
import type { UseCaseContext } from "./context.ts";
import { mapPage } from "./page.ts";

/** @throws DomainError `resource.not_found` */
export async function findCloudToken(stores: Stores, uuid: string): Promise<CloudTokenRecord> {
  const token = await stores.cloudTokens.find(uuid);
  if (token === undefined) throw notFound("Cloud provider token");
  return token;
}

/**
 * The token itself, for calls to the provider.
 * @throws DomainError `cloud.refused` if the instance calls the provider at another address than when it was stored
 */
export async function cloudTokenSecret(
  { stores, cloud }: Pick<UseCaseContext, "stores" | "cloud">,
  { uuid, name, provider }: Pick<CloudTokenRecord, "uuid" | "name" | "provider">,
): Promise<string> {
  const credential = await stores.cloudTokens.secret(uuid);
  if (credential === undefined) throw notFound("Cloud provider token");
  const { url } = cloud[provider];
  const token = credential.for(url);
  if (token !== undefined) return token;
  throw new DomainError(
    "cloud.refused",
    `The token ${name} was stored for ${credential.origins.join()}, and this instance calls ${originOf(url)}. Add it again.`,
  );
}

export function cloudTokens(context: UseCaseContext) {
  const { scope, stores, ids, cloud } = context;
  const check = (provider: CloudTokenRecord["provider"], token: string) =>
    cloudCall(`Failed to validate the token with ${CLOUD_PROVIDERS[provider].title}.`, () =>
      cloud[provider].checkToken(token),
    );

  return {
    async list(paging: Paging): Promise<Page<CloudToken>> {
      requireAbility(scope, "read");
      return mapPage(await stores.cloudTokens.list(paging), cloudTokenView);
    },

    async get(uuid: string): Promise<CloudToken> {
      requireAbility(scope, "read");
      return cloudTokenView(await findCloudToken(stores, uuid));
    },

    /** @throws DomainError `cloud.refused` if the provider rejects the token, or could not be asked */
    async create({ provider, name, token }: CloudTokenCreate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      const checked = await check(provider, token).catch(refused);
      if (!checked.isValid) throw new DomainError("cloud.refused", checked.reason);
      return stores.transaction(async (tx) => {
        const { uuid } = await tx.cloudTokens.insert({
          uuid: ids.uuid(),
          provider,
          name,
          token,
          url: cloud[provider].url,
        });
        await tx.events.append({ type: "cloud_token.created", resource_uuid: uuid, payload: { name, provider } });
        return { uuid };
      });
    },

    async update(uuid: string, { name }: CloudTokenUpdate): Promise<{ uuid: string }> {
      requireAbility(scope, "write");
      return stores.transaction(async (tx) => {
        if ((await tx.cloudTokens.update(uuid, { name })) === undefined) throw notFound("Cloud provider token");
        await tx.events.append({ type: "cloud_token.updated", resource_uuid: uuid, payload: { name } });
        return { uuid };
      });
    },

    /** @throws DomainError `resource.in_use` */
    async delete(uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const { name } = await findCloudToken(tx, uuid);
        if (!(await tx.cloudTokens.deleteIfUnused(uuid))) throw inUse();
        await tx.events.append({ type: "cloud_token.deleted", resource_uuid: uuid, payload: { name } });
      });
      return { message: "Cloud provider token deleted." };
    },

    /** Asks the provider now. */
    async validate(uuid: string): Promise<CloudTokenValidity> {
      requireAbility(scope, "write");
      const stored = await findCloudToken(stores, uuid);
      const checked = await check(stored.provider, await cloudTokenSecret(context, stored));
      return { valid: checked.isValid, message: checked.isValid ? "Token is valid." : checked.reason };
    },
  };
}

const inUse = () =>
  new DomainError(
    "resource.in_use",
    "Cannot delete token that is used by servers. It is in use until the servers that were made with it are deleted.",
  );

/** A token that could not be checked is not stored; that is an error of the request, not of the server. */
function refused(error: unknown): never {
  if (!isDomainError(error, "cloud.failed")) throw error;
  throw new DomainError("cloud.refused", error.message, { cause: error });
}
