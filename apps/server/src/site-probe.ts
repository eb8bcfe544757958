import type { SiteProbe } from "@berth/core/ports";
import { isOwnMachine } from "@berth/core/server";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { addressesOf, type PrivateHosts, presentedCertificate } from "@berth/host";

/** Asks servers at the addresses by which Berth reaches them, under the same rule as connections over SSH. */
export const siteProbe = (allowedPrivateHosts: PrivateHosts): SiteProbe => ({
  addresses: (host) => addressesOf(host, allowedPrivateHosts),
  certificate: (server, site) => {
    const isOwn = isOwnMachine(server);
    const privateHosts = isOwn || server.team_id === ROOT_TEAM_ID ? ["*"] : allowedPrivateHosts;
    return presentedCertificate({ ...site, server: isOwn ? LOOPBACK : server.ip, privateHosts });
  },
});

const LOOPBACK = "127.0.0.1";
