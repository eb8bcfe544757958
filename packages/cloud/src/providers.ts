import type { CloudProviders } from "@berth/core/ports";
import { CLOUD_PROVIDERS } from "@berth/core/server";
import type { CloudHttpOptions } from "./cloud-http.ts";
import { digitalocean } from "./digitalocean.ts";
import { hetzner } from "./hetzner.ts";

export interface CloudProvidersOptions extends Omit<CloudHttpOptions, "baseUrl"> {
  /** In place of the providers' own addresses: a gateway, or a stand-in. */
  readonly urls?: { readonly hetzner?: string | undefined; readonly digitalocean?: string | undefined };
}

export function cloudProviders({ urls = {}, ...options }: CloudProvidersOptions): CloudProviders {
  return {
    hetzner: hetzner({ ...options, baseUrl: urls.hetzner ?? CLOUD_PROVIDERS.hetzner.url }),
    digitalocean: digitalocean({ ...options, baseUrl: urls.digitalocean ?? CLOUD_PROVIDERS.digitalocean.url }),
  };
}
