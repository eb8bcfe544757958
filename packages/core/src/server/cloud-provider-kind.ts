/** Providers of rented machines. */
export const CLOUD_PROVIDERS = {
  hetzner: { title: "Hetzner" },
  digitalocean: { title: "DigitalOcean" },
} as const;
export type CloudProviderKind = keyof typeof CLOUD_PROVIDERS;
