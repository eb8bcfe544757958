import type { CloudProviders } from "@berth/core/ports";
import type { CloudHttpOptions } from "./cloud-http.ts";
import { DIGITALOCEAN_URL, digitalocean } from "./digitalocean.ts";
import { HETZNER_URL, hetzner } from "./hetzner.ts";

export interface CloudProvidersOptions extends Omit<CloudHttpOptions, "baseUrl"> {
  /** Replace the providers' own addresses, for tests. */
  readonly urls?: { readonly hetzner?: string; readonly digitalocean?: string };
}

export function cloudProviders({ urls = {}, ...options }: CloudProvidersOptions): CloudProviders {
  return {
    hetzner: hetzner({ ...options, baseUrl: urls.hetzner ?? HETZNER_URL }),
    digitalocean: digitalocean({ ...options, baseUrl: urls.digitalocean ?? DIGITALOCEAN_URL }),
  };
}
