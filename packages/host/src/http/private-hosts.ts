import { isOwnAddress } from "../own-address.ts";
import { addressRanges } from "./address-ranges.ts";

/**
 * Which private places this instance may call: host names, addresses, ranges like `10.0.0.0/8`, or `*` for all. What is
 * not named here is refused when it is loopback, link-local, private or reserved.
 */
export type PrivateHosts = readonly string[];

/**
 * Addresses of this machine are no others' either, public ones too: a handshake alone tells what listens there.
 * @param host As the user wrote it, a name or an address without brackets.
 */
export const mayConnect = (host: string, address: string, allowed: PrivateHosts, isOwn = isOwnAddress): boolean =>
  !(isReserved(address) || isOwn(address)) || isNamed(host, address, allowed);

/**
 * Whether a connection that was made may be used: one to this machine itself may not, by whatever address that the
 * machine did not show before.
 */
export const mayUse = ({ localAddress, remoteAddress }: Ends, host: string, allowed: PrivateHosts): boolean =>
  localAddress === undefined || localAddress !== remoteAddress || isNamed(host, localAddress, allowed);

interface Ends {
  readonly localAddress?: string | undefined;
  readonly remoteAddress?: string | undefined;
}

const isNamed = (host: string, address: string, allowed: PrivateHosts): boolean =>
  allowed.includes("*") || allowed.includes(host) || addressRanges(allowed)(address);

const RESERVED_IPV4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"],
  ...["192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4"],
];

/** Prefixes of IPv6 addresses that end with an IPv4 address: NAT64, and its local form. */
const TRANSLATED = ["64:ff9b::", "::ffff:0:"];

const isReserved = addressRanges([
  ...RESERVED_IPV4,
  // Unspecified, loopback and IPv4 in IPv6, NAT64 for local use, Teredo, 6to4, unique local, link-local, what was for
  // sites, multicast.
  ...["::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"],
  ...TRANSLATED.flatMap((prefix) =>
    RESERVED_IPV4.map((range) => {
      const [address = "", bits] = range.split("/");
      return `${prefix}${address}/${96 + Number(bits)}`;
    }),
  ),
]);
