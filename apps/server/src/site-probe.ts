import type { SiteProbe } from "@berth/core/ports";
import { isOwnMachine } from "@berth/core/server";
import { ROOT_TEAM_ID } from "@berth/core/team";
import { addressesOf, type PrivateHosts, presentedCertificate } from "@berth/host";

/**
 * Asks servers at the addresses by which Berth reaches them, under the same rule as connections over SSH.
 * @param publicUrl Adds the port of a server's proxy to a URL.
 */
export const siteProbe = (
  allowedPrivateHosts: PrivateHosts,
  publicUrl: (url: string, serverId: number) => string,
): SiteProbe => ({
  addresses: (host) => addressesOf(host, allowedPrivateHosts),
  serverAddresses: async (server) =>
    // A DNS record never names a private address, which Berth may use to reach the server.
    isOwnMachine(server) ? [] : (await addressesOf(server.ip, [])).addresses,
  certificate: (server, host) => {
    const isOwn = isOwnMachine(server);
    const privateHosts = isOwn || server.team_id === ROOT_TEAM_ID ? ["*"] : allowedPrivateHosts;
    // Of a URL without a port, so that none but the proxy's can come back.
    const port = Number(new URL(publicUrl("https://site.invalid/", server.id)).port) || HTTPS_PORT;
    return presentedCertificate({ host, port, server: isOwn ? LOOPBACK : server.ip, privateHosts });
  },
});

const HTTPS_PORT = 443;

const LOOPBACK = "127.0.0.1";
