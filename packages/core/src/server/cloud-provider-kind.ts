/** Providers of rented machines, and where their APIs are. */
export const CLOUD_PROVIDERS = {
  hetzner: { title: "Hetzner", url: "https://api.hetzner.cloud/v1" },
  digitalocean: { title: "DigitalOcean", url: "https://api.digitalocean.com/v2" },
} as const;
export type CloudProviderKind = keyof typeof CLOUD_PROVIDERS;
