/** Paths inside the container. */
export const CADDY_PATHS = {
  run: "/run/caddy",
  /** Of the container's seat. */
  admin: "/run/caddy-admin",
  adminSocket: "/run/caddy-admin/admin.sock",
  answered: "/run/caddy-admin/answered",
  slots: "/run/caddy/slots",
  config: "/etc/caddy/berth/caddy.json",
  acmeRoot: "/etc/caddy/berth/acme-root.pem",
  configFolder: "/etc/caddy/berth",
  certificates: "/certificates",
  data: "/data",
  /** A folder for each authority, with one for each name. */
  obtained: "/data/caddy/certificates",
} as const;
