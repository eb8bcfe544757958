import { invalid, notFound } from "@berth/core";
import type { CloudTokenRecord, MachineProvider, Page, Paging, Stores } from "@berth/core/ports";
import type { CloudCatalogueQuery, CloudImage, CloudLocation, CloudServerType, CloudSshKey } from "@berth/core/server";
import { requireAbility } from "@berth/core/team";
import { cloudCall } from "./cloud-call.ts";
import { cloudTokenSecret } from "./cloud-token.ts";
import type { UseCaseContext } from "./context.ts";
import { pageOf } from "./page.ts";

/**
 * `cloud_provider_token_uuid` overrides the older `cloud_provider_token_id`. @throws DomainError `request.invalid` if
 * both are missing
 */
export function cloudTokenUuidOf(sent: CloudCatalogueQuery): string {
  const uuid = sent.cloud_provider_token_uuid?.trim() || sent.cloud_provider_token_id?.trim();
  if (uuid) return uuid;
  throw invalid({ cloud_provider_token_uuid: [NEEDED], cloud_provider_token_id: [NEEDED] });
}

const NEEDED = "You need to provide cloud_provider_token_uuid.";

/** @throws DomainError `resource.not_found`, also for a token of another provider */
export async function findHetznerToken(stores: Stores, uuid: string): Promise<CloudTokenRecord> {
  const token = await stores.cloudTokens.find(uuid);
  if (token?.provider !== "hetzner") throw notFound("Hetzner cloud provider token");
  return token;
}

/** The provider's current catalogue. */
export function cloudCatalogue(context: UseCaseContext) {
  const { scope, stores, cloud } = context;
  const list =
    <T>(what: string, read: (provider: MachineProvider, token: string) => Promise<readonly T[]>) =>
    async (query: CloudCatalogueQuery, paging: Paging): Promise<Page<T>> => {
      requireAbility(scope, "read");
      const token = await cloudTokenSecret(context, await findHetznerToken(stores, cloudTokenUuidOf(query)));
      return pageOf(await cloudCall(`Failed to fetch Hetzner ${what}.`, () => read(cloud.hetzner, token)), paging);
    };

  return {
    locations: list<CloudLocation>("locations", (provider, token) => provider.locations(token)),
    serverTypes: list<CloudServerType>("server types", (provider, token) => provider.serverTypes(token)),
    images: list<CloudImage>("images", (provider, token) => provider.images(token)),
    sshKeys: list<CloudSshKey>("SSH keys", (provider, token) => provider.sshKeys(token)),
  };
}
