import type { SiteProbe } from "@berth/core/ports";

/** Each name resolves to one address, and each server presents a valid certificate. */
export const testSites: SiteProbe = {
  addresses: async () => ({ addresses: ["203.0.113.7"], hasHidden: false }),
  serverAddresses: async () => ["203.0.113.7"],
  certificate: async () => ({
    issuer: "Test authority",
    startsAt: new Date("2020-01-01T00:00:00Z"),
    expiresAt: new Date("2099-01-01T00:00:00Z"),
    isForName: true,
    problem: null,
  }),
};
