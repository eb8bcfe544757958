import type { CloudProviders } from "@berth/core/ports";
import type { CloudHttpOptions } from "./cloud-http.ts";
import { DIGITALOCEAN_URL, digitalocean } from "./digitalocean.ts";
import { HETZNER_URL, hetzner } from "./hetzner.ts";

export interface CloudProvidersOptions extends Omit<CloudHttpOptions, "baseUrl"> {
  /** In place of the providers' own addresses: a gateway, or a stand-in. */
  readonly urls?: { readonly hetzner?: string | undefined; readonly digitalocean?: string | undefined };
}

export function cloudProviders({ urls = {}, ...options }: CloudProvidersOptions): CloudProviders {
  return {
    hetzner: hetzner({ ...options, baseUrl: urls.hetzner ?? HETZNER_URL }),
    digitalocean: digitalocean({ ...options, baseUrl: urls.digitalocean ?? DIGITALOCEAN_URL }),
  };
}
